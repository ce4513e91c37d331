#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench/gpu_state.py reads NVML, by a library of the tests that stands in for it, and knows nothing without it."""
import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import gpu_state  # noqa: E402

LIBRARY = sys.argv.pop() if len(sys.argv) > 1 else None


class Watched(unittest.TestCase):
    def test_what_nvml_says(self):
        with gpu_state.Watched(LIBRARY, interval=0.002) as gpu:
            while len(gpu.readings) < 5:  # one follows the other in a thread of its own
                time.sleep(0.002)
        summary = gpu.summary()
        self.assertLessEqual(summary["sm_clock_mhz"], 1980)
        self.assertEqual((summary["power_watts"], summary["temperature"]), (690.5, 61))
        self.assertEqual(summary["throttled_by"], ["power limit"], "idle is none")

    def test_a_page_tells_the_range(self):
        states = [None, {"sm_clock_mhz": 1980, "power_watts": 400, "throttled_by": []},
                  {"sm_clock_mhz": 1755, "power_watts": 690.4, "throttled_by": ["power limit"]}]
        self.assertEqual(gpu_state.text_of(states), "; SM clock 1755 to 1980 MHz, at most 690 W, held down by: power limit")
        self.assertEqual(gpu_state.text_of([None, None]), "")

    def test_nothing_without_nvml(self):
        for library, index in (("libno-such.so", 0), (LIBRARY, 7)):
            with gpu_state.Watched(library, index) as gpu:
                pass
            self.assertIsNone(gpu.summary())


if __name__ == "__main__":
    unittest.main()

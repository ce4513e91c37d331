#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench/compare.py tells a slower row from noise, and nothing to compare is no success."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))
import compare  # noqa: E402


def rows(**seconds):
    return {("gemm", "64 x 64", name): {"seconds": value, "seconds_p10": 0.99 * value, "seconds_p90": 1.01 * value,
                                        "ok": True} for name, value in seconds.items()}


class Compare(unittest.TestCase):
    def test_equal_rows_hold(self):
        text, holds = compare.compare(rows(naive=1, tiled=2), rows(naive=1.02, tiled=1.9, new=5), 3)
        self.assertTrue(holds)
        self.assertIn("2 rows compared: 0 slower by more than 3 %, 0 failed, 0 gone, 1 new", text)

    def test_a_slower_row_is_named(self):
        text, holds = compare.compare(rows(naive=1, tiled=2), rows(naive=1, tiled=2.1), 3)
        self.assertFalse(holds)
        self.assertIn("slower: gemm: 64 x 64: tiled 2000000.00 us, now 2100000.00 us", text)

    def test_overlapping_samples_are_noise(self):
        noisy = rows(naive=1.04)
        next(iter(noisy.values()))["seconds_p10"] = 1.0
        self.assertTrue(compare.compare(rows(naive=1), noisy, 3)[1])

    def test_a_failed_or_lost_row_does_not_hold(self):
        wrong = rows(naive=1, tiled=2)
        next(iter(wrong.values()))["ok"] = False
        self.assertFalse(compare.compare(rows(naive=1, tiled=2), wrong, 3)[1])
        self.assertFalse(compare.compare(rows(naive=1, tiled=2), rows(tiled=2), 3)[1])

    def test_a_problem_that_was_not_measured_again_is_left_out(self):
        other = {("gemm", "8 x 8", "naive"): row for row in rows(naive=1).values()}
        self.assertTrue(compare.compare(rows(naive=1) | other, rows(naive=1), 3)[1])

    def test_nothing_compared_is_no_success(self):
        self.assertFalse(compare.compare(rows(naive=1), rows(tiled=1), 3)[1])
        self.assertFalse(compare.compare({}, {}, 3)[1])


if __name__ == "__main__":
    unittest.main()

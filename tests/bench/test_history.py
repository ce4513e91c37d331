#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench/history.py puts runs in order, takes the fastest row of each and names what became slower."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import history  # noqa: E402


def results(gpu, commit, **rows):
    """A file of results; a row is its seconds, and `cublas` is a yardstick."""
    lines = [{"event": "machine", "name": gpu, "commit": commit}]
    for variant, seconds in rows.items():
        lines.append({"event": "measurement", "family": "gemm", "problem": "64 x 64", "variant": variant, "ok": True,
                      "arithmetic": "fp32", "yardstick": variant == "cublas", "seconds": seconds,
                      "seconds_p10": 0.99 * seconds, "seconds_p90": 1.01 * seconds})
    return "\n".join(json.dumps(line) for line in lines)


KEY = ("gemm", "64 x 64", "fp32")


class History(unittest.TestCase):
    def test_the_fastest_row_of_a_run_counts_also_from_two_files(self):
        runs = history.runs_of([(1, results("A", "c0", naive=3e-6, tiled=2e-6, cublas=1e-6)),
                                (2, results("A", "c0", better=1.5e-6))])
        self.assertEqual(len(runs), 1)
        self.assertEqual(runs[0].own[KEY]["variant"], "better")
        self.assertEqual(runs[0].yardstick[KEY]["variant"], "cublas")

    def test_a_row_that_failed_is_not_drawn(self):
        text = results("A", "c0", naive=3e-6, tiled=2e-6).replace('"tiled", "ok": true', '"tiled", "ok": false')
        self.assertEqual(history.runs_of([(1, text)])[0].own[KEY]["variant"], "naive")

    def test_slower_is_against_the_run_before_on_the_same_gpu(self):
        runs = history.runs_of([(3, results("A", "c2", tiled=2.1e-6)), (1, results("A", "c0", tiled=2e-6)),
                                (2, results("B", "c1", tiled=3e-6))])
        self.assertEqual([run.commit for run in runs], ["c0", "c1", "c2"])
        self.assertEqual([history.slower_rows(runs, run) for run in runs], [[], [], [KEY]])

    def test_the_page_has_a_line_for_each_gpu_and_yardstick(self):
        runs = history.runs_of([(1, results("A", "c0", tiled=2e-6, cublas=1e-6)), (2, results("B<", "c1", tiled=3e-6))])
        page = history.page(runs)
        self.assertEqual(page.count("<polyline"), 3)
        self.assertIn("B&lt;", page)
        self.assertNotIn("B<", page)


if __name__ == "__main__":
    unittest.main()

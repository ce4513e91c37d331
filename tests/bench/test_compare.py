#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench/compare.py tells a slower row from noise, and nothing to compare is no success."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
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


class Intervals(unittest.TestCase):
    def test_as_the_program_computes_them(self):
        self.assertEqual(compare.interval_of([9, 1, 8, 2, 7, 3, 6, 4, 5]), (2, 8))
        self.assertEqual(compare.interval_of([6, 1, 5, 2, 4, 3]), (1, 6))
        self.assertEqual(compare.interval_of(range(1, 13)), (3, 10))
        self.assertEqual(compare.interval_of([3, 1]), (1, 3))

    def test_rows_with_turns_are_judged_by_their_interval(self):
        """The samples of one turn are far apart, but nine turns tell the median well, or the other way round."""
        def row(seconds, low, high):
            made = rows(naive=seconds)
            next(iter(made.values())).update(seconds_low=low, seconds_high=high, seconds_p10=0.5 * seconds,
                                             seconds_p90=1.5 * seconds)
            return made
        self.assertFalse(compare.compare(row(1, 0.99, 1.01), row(1.05, 1.04, 1.06), 3)[1])
        self.assertTrue(compare.compare(row(1, 0.99, 1.05), row(1.05, 1.04, 1.06), 3)[1])


class Alternating(unittest.TestCase):
    def turn(self, old, new, drift):
        return rows(naive=old * drift), rows(naive=new * drift)

    def test_a_drift_that_meets_both_is_no_change(self):
        """The machine gets slower by half while both are measured."""
        old, new = compare.merged([self.turn(1, 1 + 0.002 * (i % 2), 1 + 0.1 * i) for i in range(6)])
        self.assertTrue(compare.compare(old, new, 3)[1])

    def test_a_change_smaller_than_the_drift_is_found(self):
        old, new = compare.merged([self.turn(1, 1.05, 1 + 0.1 * i) for i in range(6)])
        text, holds = compare.compare(old, new, 3)
        self.assertFalse(holds)
        self.assertIn("(1.050, 1.050 to 1.050)", text)

    def test_a_turn_that_failed_fails_the_row(self):
        turns = [self.turn(1, 1, 1) for _ in range(6)]
        next(iter(turns[2][1].values()))["ok"] = False
        self.assertFalse(compare.compare(*compare.merged(turns), 3)[1])

    def test_two_programs_take_turns(self):
        """Stand-ins for `weft` note the order, and write what they measured."""
        with tempfile.TemporaryDirectory() as folder:
            programs = []
            for name, seconds in (("old", 1.0), ("new", 1.2)):
                program = pathlib.Path(folder) / name
                row = json.dumps({"event": "measurement", "family": "gemm", "problem": "8 x 8", "variant": "naive",
                                  "yardstick": False, "ok": True, "seconds": seconds, "seconds_p10": seconds,
                                  "seconds_p90": seconds})
                program.write_text(f"#!/bin/sh\necho {name} >>{folder}/order\nfor last; do :; done\necho '{row}' >$last\n")
                program.chmod(0o755)
                programs.append(str(program))
            done = subprocess.run([sys.executable, compare.__file__, "--old", programs[0], "--new", programs[1], "gemm",
                                   "--turns", "6"], capture_output=True, text=True)
            few = subprocess.run([sys.executable, compare.__file__, "--old", "a", "--new", "b", "gemm", "--turns", "5"],
                                 capture_output=True, text=True)
            self.assertIn("--turns: expected 6 or more", few.stderr)
            self.assertEqual(few.returncode, 2)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("slower: gemm: 8 x 8: naive", done.stdout)
            self.assertEqual((pathlib.Path(folder) / "order").read_text().split(), ["old", "new", "new", "old"] * 3)


class Spread(unittest.TestCase):
    def run_with(self, ratio):
        made = rows(tiled=1)
        next(iter(made.values()))["ratio"] = {"to": "cuBLAS", "median": ratio, "low": ratio, "high": ratio}
        return made

    def test_ratios_of_several_runs_are_held_together(self):
        _, text, holds = compare.spread([self.run_with(r) for r in (1.00, 1.01, 1.02)], 3)
        self.assertTrue(holds, text)
        self.assertIn("2.0 %", text)
        self.assertFalse(compare.spread([self.run_with(r) for r in (1.00, 1.04)], 3)[2])
        self.assertFalse(compare.spread([rows(tiled=1), rows(tiled=1)], 3)[2], "nothing was compared")

    def test_epochs_of_training_too(self):
        with tempfile.TemporaryDirectory() as folder:
            runs = []
            for seconds in (0.010, 0.011):
                path = pathlib.Path(folder) / f"{seconds}.json"
                path.write_text(json.dumps({"machine": {"name": "a GPU"}, "rows": [
                    {"command": "weft train --recipe fast", "epoch_seconds_median": seconds}]}))
                runs.append(compare.rows_of(path, False)[0])
            _, text, holds = compare.spread(runs, 3)
            self.assertFalse(holds)
            self.assertIn("apart: train: weft train --recipe fast: epoch: 0.010 to 0.011, 10.0 %", text)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench/record.py keeps its rules: the test, the seeds, the schedule, and what a run is."""
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import record  # noqa: E402


def with_t(n, t, goal=0.99):
    """n values whose t against the goal is t."""
    values = [(-1) ** i * 0.001 for i in range(n)]
    error = statistics.stdev(values) / n ** 0.5
    shift = goal + t * error - statistics.mean(values)
    return [value + shift for value in values]


class PValue(unittest.TestCase):
    def test_the_tables_of_student(self):
        """One-sided quantiles that every table has."""
        for freedom, t, p in ((99, 2.3646, 0.01), (29, 2.4620, 0.01), (29, 1.6991, 0.05), (9, 1.8331, 0.05), (1, 6.3138, 0.05),
                              (119, 1.6578, 0.05), (9, 4.2968, 0.001)):
            self.assertAlmostEqual(record.p_value(with_t(freedom + 1, t), 0.99) / p, 1, places=3)
            self.assertAlmostEqual(record.p_value(with_t(freedom + 1, -t), 0.99), 1 - p, places=4)

    def test_nothing_is_told_by_one_seed_or_by_none(self):
        self.assertEqual(record.p_value([1.0], 0.99), 1)
        self.assertEqual(record.p_value([], 0.99), 1)
        self.assertEqual(record.p_value([0.98] * 5, 0.99), 1)
        self.assertEqual(record.p_value([0.995] * 5, 0.99), 0)

    def test_of_a_mean_at_the_goal_one_run_in_a_hundred_passes(self):
        draw, goal, passed = random.Random(1), record.GOALS["99.00"], 0
        for _ in range(1000):
            passed += record.judge([draw.gauss(0.99, 0.0009) for _ in range(100)], goal)[0]
        self.assertTrue(1 <= passed <= 25, passed)


class Rules(unittest.TestCase):
    def test_seeds_and_p_decide(self):
        goal = record.GOALS["99.00"]
        self.assertTrue(record.judge(with_t(100, 2.5), goal)[0])
        self.assertIn("p is", record.judge(with_t(100, 2.2), goal)[1])
        self.assertIn("99 seeds of at least 100", record.judge(with_t(99, 9), goal)[1])
        self.assertEqual({name: goal.seeds for name, goal in record.GOALS.items()}, {"99.00": 100, "99.65": 30})

    def run_with(self, epochs=1, dataset="mnist", code=0):
        """record.py with a stand-in for `weft` that notes its arguments."""
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "weft"
            start = json.dumps({"event": "start", "dataset": dataset, "epochs": epochs, "test_images": 10000, "train_images": 57000,
                                "held_out_images": 3000, "device_name": "a CPU", "step": "layers"})
            program.write_text(f"#!/bin/sh\necho \"$*\" >>{folder}/asked\necho '{start}'\n"
                               "echo '{\"event\": \"epoch\", \"seconds\": 0.5}'\n"
                               f"echo '{{\"event\": \"end\", \"test_accuracy\": 0.991}}'\nexit {code}\n")
            program.chmod(0o755)
            out = pathlib.Path(folder) / "record.json"
            done = subprocess.run([sys.executable, record.__file__, "--weft", str(program), "--device", "cpu", "--goal", "99.00",
                                   "--seeds", "3", "--out", str(out), "--", "--epochs", "1"], capture_output=True, text=True)
            return done, (pathlib.Path(folder) / "asked").read_text().splitlines(), \
                json.loads(out.read_text()) if out.exists() else None

    def test_every_run_is_kept_with_its_command(self):
        done, asked, result = self.run_with()
        self.assertEqual(done.returncode, 1, "three seeds are no record")
        self.assertIn("3 seeds of at least 100", done.stdout)
        self.assertEqual(result["command"], "weft train --recipe fast --epochs 1")
        self.assertEqual([run["seed"] for run in result["runs"]], [1, 2, 3])
        self.assertEqual([run["steps_seconds"] for run in result["runs"]], [0.5] * 3)
        self.assertEqual(result["settings"]["held_out_images"], 3000)
        self.assertEqual(result["settings"]["step"], "layers")
        for seed, line in enumerate(asked, 1):
            self.assertTrue(line.startswith(f"train --recipe fast --epochs 1 --seed {seed} --device cpu --json"), line)
        self.assertIn("`weft train --recipe fast --epochs 1`", record.page([result]))
        self.assertIn("no: 3 seeds of at least 100", record.page([result]))

    def test_what_breaks_a_rule_ends_the_measurement(self):
        for wrong, reason in (({"epochs": 2}, "the schedule is fixed"), ({"dataset": "digits"}, "MNIST"), ({"code": 1}, "exited with 1")):
            done, _, result = self.run_with(**wrong)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(reason, done.stderr)
            self.assertIsNone(result)


if __name__ == "__main__":
    unittest.main()

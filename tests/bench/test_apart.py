#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`weft bench` measures yardsticks that were built apart in turns with the rungs, and checks them."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

WRONG, RIGHT, WEFT = sys.argv.pop(), sys.argv.pop(), sys.argv.pop()


def bench(libraries):
    """(the finished process, the rows of 2,048 bodies, those of 8,192 bodies, each by name)"""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "rows.jsonl")
        done = subprocess.run([WEFT, "bench", "nbody", "--device", "cpu", "--seconds", "0.001", "--json", out],
                              env={**os.environ, "WEFT_YARDSTICKS": libraries}, capture_output=True, text=True)
        rows = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    return done, *({row["variant"]: row for row in rows if row.get("problem") == f"{n} bodies"} for n in (2048, 8192))


class Apart(unittest.TestCase):
    def test_a_row_in_turns_that_rungs_are_compared_with(self):
        done, rows, other = bench(RIGHT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(rows["a naive loop"]["ok"])
        self.assertEqual(rows["a naive loop"]["which"], "built apart")
        self.assertEqual(rows["struct_of_arrays"]["ratio"]["to"], "a naive loop")
        self.assertTrue(other)
        self.assertNotIn("a naive loop", other, "it does not take this problem")

    def test_a_wrong_one_is_no_yardstick(self):
        done, rows, _ = bench(WRONG)
        self.assertFalse(rows["a naive loop"]["ok"])
        self.assertNotIn("ratio", rows["struct_of_arrays"])

    def test_a_library_that_cannot_be_loaded(self):
        done, rows, _ = bench(RIGHT + ":./no-such.so")
        self.assertEqual((done.returncode, rows), (2, {}))
        self.assertRegex(done.stderr, r"^weft: error: WEFT_YARDSTICKS: \./no-such\.so: .*\n$")


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""packaging/tests_of.py: runs the tests of the programs that it is told, and tells of each what became of them."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "packaging/tests_of.py"
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(some NONE)
enable_testing()
add_test(NAME Some.Passes COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/some_tests 0)
add_test(NAME Some.Fails COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/some_tests 1)
add_test(NAME Some.IsSkipped COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/some_tests 77)
set_tests_properties(Some.IsSkipped PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME house COMMAND false)
add_test(NAME lab_broken COMMAND true)
add_test(NAME Other.Passes COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/other_tests)
"""


class TestsOf(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        root = pathlib.Path(kept.name)
        (root / "CMakeLists.txt").write_text(PROJECT)
        (root / "some_tests").write_text("#!/bin/sh\nexit $1\n")
        (root / "some_tests").chmod(0o755)
        self.build = root / "build"
        subprocess.run(["cmake", "-S", root, "-B", self.build], check=True, capture_output=True)

    def run_with(self, *words):
        done = subprocess.run([sys.executable, PROGRAM, self.build, *words], capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def test_each_program_has_a_line(self):
        code, out, _ = self.run_with("some_tests", "lab", "--", "--timeout", "20")
        self.assertEqual(code, 1)
        self.assertIn("\n| some_tests | 1 | 1 | 1 | 0 |\n| lab | 1 | 0 | 0 | 0 |\n\n- failed: Some.Fails\n", out)
        self.assertEqual((self.build / "results.md").read_text(), out)

    def test_those_of_others_do_not_count(self):
        self.assertEqual(self.run_with("lab")[0], 0)

    def test_a_program_without_a_test_is_refused(self):
        code, _, error = self.run_with("lab", "absent_tests")
        self.assertEqual((code, error), (1, "tests_of.py: error: no test of absent_tests\n"))


if __name__ == "__main__":
    unittest.main()

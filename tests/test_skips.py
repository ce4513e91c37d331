#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""skips.py, on results of ctest and pytest that are made here."""
import contextlib
import io
import pathlib
import tempfile
import unittest

import skips

CTEST = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="Linux-c++" tests="4" failures="0" disabled="0" skipped="2">
  <testcase name="lab" classname="lab" time="1" status="run"><system-out>ok</system-out></testcase>
  <testcase name="On/Gemm.Large/cuda" classname="On/Gemm.Large/cuda" time="0" status="notrun">
    <skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
    <system-out>Note: Google Test filter = On/Gemm.Large/cuda
[ RUN      ] On/Gemm.Large/cuda
/weft/tests/support/device_test.h:45: Skipped
no GPU: no driver

[  SKIPPED ] On/Gemm.Large/cuda (0 ms)
</system-out>
  </testcase>
  <testcase name="serve_in_a_browser" classname="serve_in_a_browser" time="0" status="notrun">
    <skipped message="SKIP_RETURN_CODE=77"/>
    <system-out>skipped: no Chromium here
</system-out>
  </testcase>
</testsuite>
"""
PYTEST = """<testsuites><testsuite name="pytest"><testcase classname="tests.test_a" name="test_b[cuda]" time="0">
<skipped type="pytest.skip" message="PyTorch sees no GPU">a.py:1: PyTorch sees no GPU</skipped></testcase>
<testcase classname="tests.test_a" name="test_c" time="0"/></testsuite></testsuites>
"""
GPU = "On/.*/cuda | no GPU: .*\n# a comment\n\ntests[.]test_a[.].* | PyTorch sees no GPU\n"


class Skips(unittest.TestCase):
    def run_it(self, expected, *arguments):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for file, text in {"c.xml": CTEST, "p.xml": PYTEST, "skips.txt": expected}.items():
                (folder / file).write_text(text)
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                code = skips.main([str(folder / "c.xml"), str(folder / "p.xml"),
                                   "--expected", str(folder / "skips.txt"), *arguments])
            return code, said.getvalue()

    def test_a_skip_that_is_not_expected_fails(self):
        code, said = self.run_it(GPU)
        self.assertEqual(code, 1)
        self.assertIn("serve_in_a_browser was skipped: no Chromium here\n", said)
        self.assertEqual(said.count("was skipped"), 1)
        self.assertIn("3 tests, 2 skipped", said)

    def test_expected_skips_pass(self):
        self.assertEqual(self.run_it(GPU + "serve_.* | no Chromium here")[0], 0)

    def test_name_and_reason_must_match_as_a_whole(self):
        for rule in ("serve | .*", "serve_.* | no Chromium", "lab | no Chromium here"):
            self.assertEqual(self.run_it(GPU + rule)[0], 1, rule)

    def test_a_test_that_is_not_there_fails(self):
        everything = GPU + "serve_.* | .*"
        self.assertEqual(self.run_it(everything, "--ran", "lab")[0], 0)
        for name in ("machine_code", "serve_in_a_browser"):
            code, said = self.run_it(everything, "--ran", "lab", name)
            self.assertEqual((code, said.splitlines()[-1]), (1, f"{name} did not run"))


if __name__ == "__main__":
    unittest.main()

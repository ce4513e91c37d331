#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""packaging/needs.sh: a library outside of the package is named, and so is one that is nowhere; glibc's are not.

    tests/packaging/test_needs.py COMPILER
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

NEEDS = pathlib.Path(__file__).resolve().parents[2] / "packaging/needs.sh"


def compile_to(path, text, *words):
    source = path.with_suffix(".cpp")
    source.write_text(text)
    subprocess.run([compiler, source, "-o", path, *words], check=True)


def needs(folder, *files):
    done = subprocess.run([NEEDS, folder, *files], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


class Needs(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.root = pathlib.Path(kept.name).resolve()
        self.package, self.library = self.root / "package", self.root / "package/lib/libpart.so"
        self.library.parent.mkdir(parents=True)
        compile_to(self.library, "int part() { return 3; }", "-shared", "-fPIC", "-Wl,-soname,libpart.so")
        self.program = self.package / "program"
        compile_to(self.program, "#include <cmath>\nint part();\nint main(int n, char**) { return part() + int(std::cbrt(n)); }",
                   self.library, "-Wl,-rpath,$ORIGIN/lib:$ORIGIN/../elsewhere", "-static-libgcc", "-nodefaultlibs", "-lm", "-lc")

    def test_a_package_with_all_its_libraries(self):
        self.assertEqual(needs(self.package, self.program, self.library), (0, "", ""))

    def test_a_library_that_is_elsewhere(self):
        (self.root / "elsewhere").mkdir()
        there = self.library.rename(self.root / "elsewhere/libpart.so")
        self.assertEqual(needs(self.package, self.program),
                         (1, f"{self.program} needs libpart.so, which is not in the package: {there}\n", ""))
        self.library.symlink_to(there)
        self.assertEqual(needs(self.package, self.program)[0], 1)

    def test_a_library_that_is_nowhere(self):
        self.library.unlink()
        self.assertEqual(needs(self.package, self.program),
                         (1, f"{self.program} needs libpart.so, which is not in the package: it is nowhere\n", ""))

    def test_a_manylinux_wheel_may_take_what_every_such_system_has(self):
        compile_to(self.program, "#include <iostream>\nint main() { std::cout << 3; }")
        self.assertEqual(needs(self.package, self.program)[0], 1)
        tags = self.package / "weft-0.1.0.dist-info/WHEEL"
        tags.parent.mkdir()
        tags.write_text("Wheel-Version: 1.0\nTag: cp312-abi3-linux_x86_64\n")
        self.assertEqual(needs(self.package, self.program)[0], 1)
        tags.write_text("Wheel-Version: 1.0\nTag: cp312-abi3-manylinux_2_34_x86_64\n")
        self.assertEqual(needs(self.package, self.program), (0, "", ""))
        compile_to(self.program, "int part();\nint main() { return part(); }", self.library, "-Wl,-rpath,$ORIGIN/../elsewhere")
        self.assertIn("libpart.so", needs(self.package, self.program)[1])

    def test_a_file_that_is_not_there(self):
        code, _, error = needs(self.package, self.package / "nothing")
        self.assertEqual(code, 1)
        self.assertIn("No such file", error)


if __name__ == "__main__":
    compiler = sys.argv.pop(1)
    unittest.main()

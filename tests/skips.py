#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every test ran, but for those that tests/expected_skips.txt says may be skipped.

    python3 tests/skips.py JUNIT.xml... [--ran NAME...] [--expected FILE]

JUNIT.xml is what ctest --output-junit or pytest --junitxml wrote. --ran names tests that must be in
one of them and must not have been skipped: a test that CMake leaves out is no skip. Prints each breach
in a line, and exits with 1 when there is one.
"""
import argparse
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree


def expected_of(text):
    """[(pattern of a test's name, pattern of its reason)] of lines `NAME | REASON`."""
    rules = []
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition(" | ")
            rules.append((re.compile(name.strip()), re.compile(reason.strip(), re.S)))
    return rules


def reason_of(case, skipped):
    """What a test said when it was skipped: to pytest, to GoogleTest, or in a line `skipped: ...`."""
    output = case.findtext("system-out") or ""
    said = re.search(r": Skipped\n(.*?)\n+\[  SKIPPED \]", output, re.S) or \
        re.search(r"^skipped[,:]? +(.*)$", output, re.M)
    return (said.group(1) if said else skipped.get("message", "")).strip()


def read(path):
    """{name: reason, or None of a test that ran}."""
    tests = {}
    for case in ElementTree.parse(path).iter("testcase"):
        skipped = case.find("skipped")
        module = case.get("classname", "")  # ctest repeats the name
        name = case.get("name") if module in ("", case.get("name")) else f"{module}.{case.get('name')}"
        tests[name] = None if skipped is None else reason_of(case, skipped)
    return tests


def unexpected(tests, rules):
    """A line for each test that was skipped and is in no rule."""
    return [f"{name} was skipped: {reason or 'no reason was given'}" for name, reason in tests.items()
            if reason is not None and
            not any(test.fullmatch(name) and why.fullmatch(reason) for test, why in rules)]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="JUNIT.xml")
    parser.add_argument("--ran", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--expected", type=pathlib.Path,
                        default=pathlib.Path(__file__).with_name("expected_skips.txt"))
    options = parser.parse_args(arguments)
    rules = expected_of(options.expected.read_text())
    ran = set()
    breaches = 0
    for path in options.files:
        tests = read(path)
        ran |= {name for name, reason in tests.items() if reason is None}
        skipped = sum(reason is not None for reason in tests.values())
        print(f"{path}: {len(tests)} tests, {skipped} skipped")
        for line in unexpected(tests, rules):
            print(f"  {line}")
            breaches += 1
    for name in options.ran:
        if name not in ran:
            print(f"{name} did not run")
            breaches += 1
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())

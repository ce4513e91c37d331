#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the tests of a build that belong to some programs, by ctest, and writes a table of them to BUILD/results.md.

    packaging/tests_of.py BUILD [--jobs N] PROGRAM... [-- WORD...]

PROGRAM is that of the tests, `lab` for what runs programs of students, or `weft` for tests of host-cuda that start it. WORDs are
handed to ctest. Exits with 1 when a test has failed or a PROGRAM has no test.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

SLOW = 30  # seconds


def program_of(test):
    """Whose test this is, "" for one that is none of the programs': of house rules and the like."""
    if re.match(r"lab(_|$)", test["name"]):
        return "lab"
    for word in test.get("command", []):
        name = pathlib.Path(word).name
        if re.fullmatch(r"\w+_tests", name):
            return name
    return "weft" if test["name"].startswith("host_cuda_program") else ""


def table(programs, results):
    """`results`: of each program [(name of the test, what became of it, seconds)]."""
    lines = ["| program | passed | failed | skipped | seconds |", "|---|---|---|---|---|"]
    notes = []
    for program in programs:
        tests = results.get(program, [])
        counts = [sum(state == wanted for _, state, _ in tests) for wanted in ("run", "fail", "skipped")]
        lines.append(f"| {program} | {counts[0]} | {counts[1]} | {counts[2]} | {sum(one[2] for one in tests):.0f} |")
        notes += [f"- failed: {name}" for name, state, _ in tests if state == "fail"]
        notes += [f"- {seconds:.0f} s: {name}" for name, state, seconds in tests if state == "run" and seconds >= SLOW]
    return "\n".join(lines + [""] * bool(notes) + notes) + "\n"


def main():
    words = sys.argv[1:]
    further = words[words.index("--") + 1:] if "--" in words else []
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--jobs", default="1")
    parser.add_argument("programs", nargs="+")
    wanted = parser.parse_args(words[:words.index("--")] if "--" in words else words)
    call = ["ctest", "--test-dir", wanted.build]
    known = json.loads(subprocess.run([*call, "--show-only=json-v1"], check=True, capture_output=True, text=True).stdout)
    owner = {test["name"]: program_of(test) for test in known["tests"]}
    numbers = [str(i) for i, test in enumerate(known["tests"], 1) if owner[test["name"]] in wanted.programs]
    with tempfile.TemporaryDirectory() as folder:
        chosen, report = pathlib.Path(folder) / "chosen", pathlib.Path(folder) / "report.xml"
        chosen.write_text(f"0,0,0,{','.join(numbers)}\n")  # as ctest -I reads it
        subprocess.run([*call, "-I", chosen, "--parallel", wanted.jobs, "--output-junit", report, *further],
                       stdout=(wanted.build / "ctest.log").open("w"), stderr=subprocess.STDOUT)
        results = {}
        for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
            state = {"notrun": "skipped", "disabled": "skipped"}.get(case.get("status"), case.get("status"))
            results.setdefault(owner[case.get("name")], []).append((case.get("name"), state, float(case.get("time"))))
    text = table(wanted.programs, results)
    (wanted.build / "results.md").write_text(text)
    print(text, end="")
    without = [program for program in wanted.programs if not results.get(program)]
    if without:
        sys.exit(f"tests_of.py: error: no test of {', '.join(without)}")
    return 1 if any(state == "fail" for tests in results.values() for _, state, _ in tests) else 0


if __name__ == "__main__":
    sys.exit(main())

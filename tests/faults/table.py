#!/usr/bin/env python3
"""Makes tests/faults/RESULTS.md of tests/faults/results.

    python3 tests/faults/table.py [--check]
"""
import json
import pathlib
import sys

import programs

PAGE = pathlib.Path(__file__).with_name("RESULTS.md")


def rows_of(file: str) -> list[dict]:
    path = programs.RESULTS / file
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def table(heads: list[str], rows: list[list]) -> list[str]:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows] + [""]


def page() -> str:
    lines = ["# Failing calls, torn writes, kills and stops", "",
             "This page is made by `python3 tests/faults/table.py` from the files in [results](results).",
             "[tests/README.md](../README.md) tells what is tested, and how to repeat it.", ""]
    calls = rows_of("calls.jsonl")
    kinds = list(dict.fromkeys(row["call"] for row in calls))

    def sums(rows: list[dict]) -> list[int]:
        return [sum(row[what] for row in rows) for what in ("runs", "survived", "refused")] + [
            sum(len(row["wrong"]) for row in rows)]

    lines += ["## Failing system calls", "",
              "A fault was survived when the program ended with 0 and all its results. It was refused when the",
              "program ended with one clear line and the right exit code, and nothing was lost.", ""]
    names = list(dict.fromkeys(row["program"] for row in calls))
    lines += table(["program", "faults", "survived", "refused", "wrong"],
                   [[name, *sums([row for row in calls if row["program"] == name])] for name in names] +
                   [["all", *sums(calls)]])
    lines += table(["call", "errors", "faults", "survived", "refused", "wrong"],
                   [[kind, ", ".join(dict.fromkeys(row["error"] for row in calls if row["call"] == kind)),
                     *sums([row for row in calls if row["call"] == kind])] for kind in kinds])
    lines += ["`small alloc` fails allocations from 16 KiB on, `alloc` those from 1 MiB on. On a full disk every later",
              "write, fsync, mkdir and rename fails too, and on a dead disk every later call.", "", "## Torn writes", ""]
    lines += table(["run", "commits", "moments", "states", "distinct", "resumed", "no checkpoint yet", "wrong"],
                   [[row["program"], row["commits"], row["moments"], row["states"], row["distinct"], row["resumed"],
                     row["none_yet"], len(row["wrong"])] for row in rows_of("torn.jsonl")])
    lines += ["## kill -9", ""]
    lines += table(["run", "kills", "of rank 0", "of rank 1", "of both", "resumed", "no checkpoint yet", "wrong"],
                   [[row["program"], row["kills"], row["rank 0"], row["rank 1"], row["both"], row["resumed"],
                     row["none_yet"], len(row["wrong"])] for row in rows_of("kills.jsonl")])
    lines += ["## SIGSTOP", "", "A rank is stopped, and the other one waits for it with the timeout.", ""]
    lines += table(["run", "epochs", "stops", "timeout in s", "longest wait in s", "wrong"],
                   [[row["program"], row["epochs"], row["stops"], row["timeout"], row["longest"], len(row["wrong"])]
                    for row in rows_of("stops.jsonl")])
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if PAGE.read_text() == page() else "tests/faults/RESULTS.md is not what tests/faults/table.py makes")
    PAGE.write_text(page())

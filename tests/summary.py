#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the table of results into tests/README.md, from what the long tests have recorded.

    python3 tests/summary.py [--check]    --check: exit code 1 when the table is not what the data say
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "mutants"))
import report  # noqa: E402

BEGIN, END = "<!-- written by summary.py -->\n", "<!-- end -->\n"


def rows_of(path):
    return [json.loads(line) for line in (HERE / path).read_text().splitlines()]


def total(rows, key):
    return sum(row[key] if isinstance(row[key], int) else len(row[key]) for row in rows)


def mutants(title, folders):
    """A row of the table, with the mutants that count."""
    equivalents = json.loads((HERE / "mutants/equivalents.json").read_text())
    ours = [r for r in report.load() if r["file"].split("/")[0] in folders]  # of the sources of today
    equal = sum(r["outcome"] == "survived" and report.reason_of(r, equivalents) is not None for r in ours)
    killed = sum(r["outcome"] in report.KINDS for r in ours)
    survived = sum(r["outcome"] == "survived" for r in ours) - equal
    if killed + survived == 0:
        return f"| {title} | none was run | |"
    share = f"{100 * killed / (killed + survived):.1f} %"
    return f"| {title} | {killed + survived} mutants | {share} killed, {survived} survived, {equal} equivalent ones left out |"


def table():
    fuzz = rows_of("fuzz/results.jsonl")
    calls, torn, kills, stops = (rows_of(f"faults/results/{name}.jsonl") for name in ("calls", "torn", "kills", "stops"))
    covered = re.search(r"^\| all \| (\d+) \| (\d+) \| ([\d.]+) \| (\d+) \| (\d+) \| ([\d.]+) \|",
                        (HERE / "COVERAGE.md").read_text(), re.M)
    lines = [
        "| test | tried | found |", "|---|---|---|",
        f"| [fuzzing](fuzz/RESULTS.md) | {total(fuzz, 'executions'):,} executions of "
        f"{len({row['target'] for row in fuzz})} readers | {total(fuzz, 'findings')} inputs that break one |",
        f"| [failing calls](faults/RESULTS.md) | {total(calls, 'runs')} faults | {total(calls, 'wrong')} wrong; "
        f"{total(calls, 'survived')} survived, {total(calls, 'refused')} refused |",
        f"| [torn writes](faults/RESULTS.md) | {total(torn, 'states')} states of a disk, {total(torn, 'tried')} distinct "
        f"| {total(torn, 'wrong')} wrong; {total(torn, 'resumed')} resumed, {total(torn, 'none_yet')} without a checkpoint yet |",
        f"| [kill -9](faults/RESULTS.md) | {total(kills, 'kills')} kills | {total(kills, 'wrong')} wrong |",
        f"| [SIGSTOP](faults/RESULTS.md) | {total(stops, 'stops')} stops of a rank | {total(stops, 'wrong')} wrong |",
        mutants("[mutants](mutants/RESULTS.md) of kernels", {"kernels"}),
        mutants("mutants of data, layers and models", {"data", "layers", "models"}),
        f"| [coverage](COVERAGE.md) | {int(covered[2]):,} lines, {int(covered[5]):,} branches of the readers, of checkpointing "
        f"and of the command line | {covered[3]} % of the lines, {covered[6]} % of the branches are reached |",
    ]
    return "\n".join(lines) + "\n"


def main():
    page = HERE / "README.md"
    before = page.read_text()
    begin, end = before.index(BEGIN) + len(BEGIN), before.index(END)
    after = before[:begin] + table() + before[end:]
    if "--check" in sys.argv[1:]:
        if before != after:
            print("the table of tests/README.md is not what the data say: run tests/summary.py", file=sys.stderr)
        return 1 if before != after else 0
    page.write_text(after)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps what the fuzzers did: adds the logs of a run to results.jsonl, and makes RESULTS.md of all runs.

    tests/fuzz/results.py [BUILD TARGET...]    BUILD has logs/TARGET.log; without it the page is made again
"""
import collections
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
DATA, PAGE = HERE / "results.jsonl", HERE / "RESULTS.md"


def first_line(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0].strip()


def row_of(build, target, common):
    log = (build / "logs" / f"{target}.log").read_text(errors="replace")
    stats = {name: int(value) for name, value in re.findall(r"stat::(\w+):\s+(\d+)", log)}
    last = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)/", log)
    seconds = re.findall(r"Done \d+ runs in (\d+) second", log)
    findings = sorted(path.name for path in (build / "findings" / target).iterdir())
    edges, features, corpus = map(int, last[-1])
    return common | {"target": target, "executions": stats["number_of_executed_units"],
                     "seconds": int(seconds[-1]) if seconds else None, "edges": edges, "features": features,
                     "corpus": corpus, "peak_mib": stats["peak_rss_mb"], "findings": findings}


def purpose_of(target):
    """The comment on top of the fuzzer, its first sentence."""
    lines = (HERE / f"fuzz_{target}.cpp").read_text().splitlines()[1:]
    text = " ".join(line[3:] for line in lines[:6] if line.startswith("// "))
    return re.split(r"(?<=[a-z)])\. |\.$", text)[0] + "."


def page(rows):
    by_target = collections.defaultdict(list)
    for row in rows:
        by_target[row["target"]].append(row)
    total = sum(row["executions"] for row in rows)
    hours = sum(row["seconds"] or 0 for row in rows) / 3600
    lines = ["# What the fuzzers did", "",
             "Made by tests/fuzz/results.py from results.jsonl. Each row sums the runs of a target; edges, corpus and",
             "memory are those of its last run. Findings are inputs that broke a property, before they were mended.", "",
             f"In all {total:,} executions in {hours:.1f} hours of a core, under AddressSanitizer and UBSan, with at most",
             f"{max(row['limit_mib'] for row in rows):,} MiB of memory for the process.", "",
             "| target | what must hold | executions | core hours | edges | corpus | peak MiB | findings |",
             "|---|---|---:|---:|---:|---:|---:|---:|"]
    for target, runs in sorted(by_target.items()):
        last = runs[-1]
        lines.append(f"| {target} | {purpose_of(target)} | {sum(r['executions'] for r in runs):,} "
                     f"| {sum(r['seconds'] or 0 for r in runs) / 3600:.2f} | {last['edges']:,} | {last['corpus']:,} "
                     f"| {max(r['peak_mib'] for r in runs)} | {sum(len(r['findings']) for r in runs)} |")
    return "\n".join(lines) + "\n"


def main():
    rows = [json.loads(line) for line in DATA.read_text().splitlines()] if DATA.exists() else []
    if len(sys.argv) > 2:
        build = pathlib.Path(sys.argv[1])
        compiler = re.search(r"CMAKE_CXX_COMPILER:\w+=(.*)", (build / "CMakeCache.txt").read_text()).group(1)
        common = {"commit": first_line("git", "-C", str(HERE), "rev-parse", "--short", "HEAD"),
                  "compiler": first_line(compiler, "--version"), "sanitizers": "address,undefined", "limit_mib": 1024}
        new = [row_of(build, target, common) for target in sys.argv[2:]]
        with DATA.open("a") as file:
            for row in new:
                file.write(json.dumps(row) + "\n")
        rows += new
    PAGE.write_text(page(rows))
    print(PAGE.read_text())


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rewrites the results of README.md, between its markers, from the files of bench/results/.

    bench/update_readme.py          write
    bench/update_readme.py --check  exit 1 when README.md is out of date
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BEGIN, END = "<!-- results: begin (bench/update_readme.py) -->", "<!-- results: end -->"


def seconds(value):
    return f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.2f} s"


def yardstick_of(result, row):
    """The fastest PyTorch figure for the same network and batch, in the same run."""
    found = [y for y in result["yardsticks"] if y["model"] == row["model"] and y["batch"] == row["batch"]]
    return min(found, key=lambda y: y["epoch_seconds"]) if found else None


def table_of(result):
    machine = result["machine"]
    where = machine["gpu"] if result["device"] == "cuda" else f"{machine['cpu']}, {result['threads']} threads"
    version = f", CUDA {machine['cuda']}, driver {machine['driver']}" if result["device"] == "cuda" else ""
    lines = [f"{where}{version}, commit {machine['commit']}, {machine['date']}:", "",
             "| network | batch | epochs | seeds | test accuracy, mean (lowest) | epoch | PyTorch's epoch |",
             "|---|---|---|---|---|---|---|"]
    for row in result["rows"]:
        yardstick = yardstick_of(result, row)
        peer = f"{seconds(yardstick['epoch_seconds'])} ({yardstick['yardstick']})" if yardstick else "not measured"
        lines.append(f"| {row['model']} | {row['batch']} | {row['epochs']} | {row['seeds']} "
                     f"| {100 * row['accuracy_mean']:.2f} % ({100 * row['accuracy_min']:.2f} %) "
                     f"| {seconds(row['epoch_seconds_median'])} | {peer} |")
    return lines


def main():
    results = [json.loads(path.read_text()) for path in sorted((ROOT / "bench/results").glob("train-*.json"))]
    results.sort(key=lambda result: result["device"], reverse=True)
    body = "\n\n".join("\n".join(table_of(result)) for result in results)
    text = README.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    updated = f"{before}{BEGIN}\n{body}\n{END}{after}"
    if "--check" in sys.argv[1:]:
        sys.exit(0 if updated == text else "README.md is out of date: run bench/update_readme.py")
    README.write_text(updated)


if __name__ == "__main__":
    main()

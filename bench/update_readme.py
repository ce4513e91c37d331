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
MARKERS = "<!-- {}: begin (bench/update_readme.py) -->", "<!-- {}: end -->"


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


def training_tables():
    results = [json.loads(path.read_text()) for path in sorted((ROOT / "bench/results").glob("train-*.json"))]
    results.sort(key=lambda result: result["device"], reverse=True)
    return "\n\n".join("\n".join(table_of(result)) for result in results)


def rate(row):
    if row["family"] in ("gemm", "conv"):
        return f"{row['flops_per_second'] / 1e12:.1f} TFLOP/s"
    return f"{row['bytes_per_second'] / 1e12:.2f} TB/s"


def kernel_table():
    """Per problem and arithmetic: the fastest right rung against the fastest right yardstick of the same run."""
    events = [json.loads(line) for line in (ROOT / "bench/results/kernels-h200.jsonl").read_text().splitlines()]
    machine = next(event for event in events if event["event"] == "machine")
    groups = {}
    for row in events:
        if row["event"] == "measurement" and row["ok"]:
            groups.setdefault((row["family"], row["problem"], row["arithmetic"]), []).append(row)
    lines = [f"{machine['name']}, CUDA {machine['cuda']}, commit {machine['commit']}, `weft bench all`; medians:", "",
             "| family | problem | fastest rung | its rate | yardstick | its rate | ratio |",
             "|---|---|---|---|---|---|---|"]
    for (family, problem, arithmetic), rows in groups.items():
        best = {peer: min((row for row in rows if row["yardstick"] == peer), key=lambda row: row["seconds"], default=None)
                for peer in (False, True)}
        if best[False] is None or best[True] is None:
            continue
        lines.append(f"| {family} | {problem}{', tf32' if arithmetic == 'tf32' else ''} | {best[False]['variant']} "
                     f"| {rate(best[False])} | {best[True]['variant']} | {rate(best[True])} "
                     f"| {best[True]['seconds'] / best[False]['seconds']:.2f} |")
    return "\n".join(lines)


def replaced(text, section, body):
    begin, end = (marker.format(section) for marker in MARKERS)
    before, rest = text.split(begin)
    return f"{before}{begin}\n{body}\n{end}{rest.split(end)[1]}"


def main():
    text = README.read_text()
    updated = replaced(replaced(text, "results", training_tables()), "kernels", kernel_table())
    if "--check" in sys.argv[1:]:
        sys.exit(0 if updated == text else "README.md is out of date: run bench/update_readme.py")
    README.write_text(updated)


if __name__ == "__main__":
    main()

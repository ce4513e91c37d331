#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Candidates for `--recipe fast`, which is to reach a mean of 99.00 % by its default command at the least loss of time.

    bench/mend_fast.py --weft build/cuda/weft --device cuda --seconds 540 [--only "NAME;NAME"] [--json FILE]

Each candidate is the recipe with a few further flags. All take turns, seed by seed, until the time is used up. Training is
on 50,000 images (--val-split), and a candidate is judged by the other 10,000; the test images decide nothing and are not
printed. The sum of the epochs' seconds stands beside. bench/record.py then says whether the choice passes.

With --jobs above 1 as many processes share the device. Accuracies are the same then, and seconds mean nothing.
"""
import argparse
import concurrent.futures
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

CANDIDATES = {
    "recipe": [],
    "4 epochs": ["--epochs", "4"],
    "batch 224": ["--batch-size", "224"],
    "batch 192": ["--batch-size", "192"],
    "batch 192, 0.07": ["--batch-size", "192", "--lr", "0.07"],
    "batch 160, 0.06": ["--batch-size", "160", "--lr", "0.06"],
    "0.09": ["--lr", "0.09"],
    "warm-up 0.2": ["--warmup", "0.2"],
    "decay 0.001": ["--weight-decay", "0.001"],
    "decay 0.0002": ["--weight-decay", "0.0002"],
    "momentum 0.93, 0.06": ["--momentum", "0.93", "--lr", "0.06"],
    "smooth 0.02": ["--label-smoothing", "0.02"],
    "gain 1.3": ["--init-gain", "1.3"],
    "gain 1.3, 0.1": ["--init-gain", "1.3", "--lr", "0.1"],
    "warm-up 0.4": ["--warmup", "0.4"],
    "batch 224, 0.07": ["--batch-size", "224", "--lr", "0.07"],
}


def run(weft, device, flags, seed):
    """(accuracy on what was held out, seconds of all epochs)"""
    with tempfile.TemporaryDirectory() as folder:
        command = [weft, "train", "--recipe", "fast", *flags, "--val-split", "0.16667", "--seed", str(seed), "--device", device,
                   "--json", "--progress", "off", "--out", f"{folder}/run"]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"mend_fast.py: error: {' '.join(command)}: {done.stderr.strip()}")
    epochs = [event for event in map(json.loads, done.stdout.splitlines()) if event["event"] == "epoch"]
    return epochs[-1]["validation"]["accuracy"], sum(event["seconds"] for event in epochs)


def table(results, timed):
    lines = [f"{'candidate':22} {'seeds':>5} {'mean':>9} {'deviation':>9} {'error':>7} {'lowest three':>24}"
             + f" {'epochs':>10}" * timed]
    for name, runs in sorted(results.items(), key=lambda item: -statistics.mean(run[0] for run in item[1] or [(0, 0)])):
        if len(runs) < 2:
            continue
        values = sorted(accuracy for accuracy, _ in runs)
        deviation = statistics.stdev(values)
        low = ", ".join(f"{100 * value:.2f}" for value in values[:3])
        lines.append(f"{name:22} {len(runs):5} {100 * statistics.mean(values):7.3f} % {100 * deviation:9.3f} "
                     f"{100 * deviation / len(runs) ** 0.5:7.3f} {low:>24}"
                     + f" {1e3 * statistics.median(s for _, s in runs):7.1f} ms" * timed)
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", required=True)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    parser.add_argument("--seconds", type=float, default=540)
    parser.add_argument("--only", default="", help="names of candidates, separated by semicolons")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    names = options.only.split(";") if options.only else list(CANDIDATES)
    unknown = [name for name in names if name not in CANDIDATES]
    if unknown:
        parser.error(f"--only: expected of {'; '.join(CANDIDATES)}, found {unknown[0]}")
    results, begin, seed = {name: [] for name in names}, time.perf_counter(), 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        while time.perf_counter() - begin < options.seconds:
            seed += 1
            done = pool.map(lambda name: run(options.weft, options.device, CANDIDATES[name], seed), names)
            for name, result in zip(names, done):
                results[name].append(result)
    print(table(results, timed=options.jobs == 1))
    if options.json:
        options.json.write_text(json.dumps({name: {"flags": CANDIDATES[name], "runs": runs} for name, runs in results.items()},
                                           indent=1) + "\n")


if __name__ == "__main__":
    main()

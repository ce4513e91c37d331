#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures a record by the rules of bench/RECORDS.md, and says whether it stands.

    bench/record.py --weft build/cuda/weft --device cuda --goal 99.00 --out bench/results/record-99.00-h100.json
    bench/record.py --weft build/cpu/weft --device cpu --threads 2 --goal 99.00 --out bench/results/record-99.00-cpu.json
    bench/record.py --weft build/cuda/weft --device cuda --goal 99.65 --anchor
    bench/record.py --weft build/cpu/weft --device cpu --goal 99.00 --seeds 3 -- --epochs 1     a try, which is no record

Every run is one process of `weft train` with the goal's flags, which are written to the file with each seed's accuracy and
times. Further flags after `--` go to `weft train` too. With --anchor bench/pytorch/anchor.py trains the public anchor's
network on the same device, with as many seeds. Exits with 1 when the record does not stand.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import gpu_state
from machine import machine, write_result

HERE = pathlib.Path(__file__).resolve().parent
LEVEL = 0.01  # of the test: p has to be smaller


@dataclass(frozen=True)
class Goal:
    accuracy: float  # of the mean, as a share
    seeds: int  # at least
    flags: tuple  # of `weft train`


GOALS = {"99.00": Goal(0.99, 100, ("--recipe", "fast")), "99.65": Goal(0.9965, 30, ("--recipe", "accurate"))}


def incomplete_beta(a, b, x):
    """The regularised incomplete beta function, by its continued fraction (Lentz's method)."""
    if x in (0, 1):
        return float(x)
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    tiny = 1e-300
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, 500):
        for numerator in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                          -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1 / (1 + numerator * d or tiny)
            c = 1 + numerator / c or tiny
            fraction *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return front * fraction


def p_value(values, goal):
    """One-sided p of Student's t-test against "the mean is below the goal". 1 where it cannot be told."""
    n = len(values)
    if n < 2:
        return 1.0
    deviation = statistics.stdev(values)
    if deviation == 0:
        return 0.0 if values[0] > goal else 1.0
    t = (statistics.mean(values) - goal) / (deviation / math.sqrt(n))
    tail = 0.5 * incomplete_beta((n - 1) / 2, 0.5, (n - 1) / (n - 1 + t * t))
    return tail if t > 0 else 1 - tail


def judge(accuracies, goal):
    """(does it stand?, why not)"""
    if len(accuracies) < goal.seeds:
        return False, f"{len(accuracies)} seeds of at least {goal.seeds}"
    p = p_value(accuracies, goal.accuracy)
    if not p < LEVEL:
        return False, f"p is {p:.2g}, and has to be below {LEVEL}"
    return True, ""


def train(command, seed, extra):
    """(accuracy, seconds of all steps, seconds from exec to exit, start event) of one run."""
    with tempfile.TemporaryDirectory() as folder:
        whole = [*command, "--seed", str(seed), *extra, "--json", "--progress", "off", "--out", f"{folder}/run"]
        begin = time.perf_counter()
        done = subprocess.run(whole, capture_output=True, text=True)
        process = time.perf_counter() - begin
    if done.returncode != 0:  # a run that fails is not left out
        sys.exit(f"record.py: error: {' '.join(whole)} exited with {done.returncode}: {done.stderr.strip()}")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    start, end = events[0], events[-1]
    steps = [event["seconds"] for event in events if event["event"] == "epoch"]
    if start["dataset"] != "mnist" or start["test_images"] != 10000:
        sys.exit(f"record.py: error: a record is of MNIST's 10,000 test images, found {start['test_images']} of {start['dataset']}")
    if len(steps) != start["epochs"]:
        sys.exit(f"record.py: error: the schedule is fixed: expected {start['epochs']} epochs, found {len(steps)}")
    return end["test_accuracy"], sum(steps), process, start


def measure(weft, goal, seeds, device, threads, more):
    command = [weft, "train", *goal.flags, *more]
    extra = ["--device", device] + (["--threads", str(threads)] if threads else [])
    rows = []
    for seed in range(1, seeds + 1):
        accuracy, steps, process, start = train(command, seed, extra)
        rows.append({"seed": seed, "accuracy": accuracy, "steps_seconds": steps, "process_seconds": process})
        print(f"seed {seed}: {100 * accuracy:.2f} %, {steps:.4f} s of steps, {process:.3f} s from exec to exit",
              file=sys.stderr, flush=True)
    kept = ("model", "parameters", "train_images", "held_out_images", "test_images", "epochs", "batch_size", "lr", "lr_schedule",
            "optimizer", "precision", "device_name", "threads", "step")
    return {"command": " ".join(["weft", *command[1:]]), "settings": {key: start.get(key) for key in kept}, "runs": rows}


def anchor(seeds, device):
    done = subprocess.run([sys.executable, str(HERE / "pytorch/anchor.py"), "--device", device, "--seeds", str(seeds)],
                          capture_output=True, text=True)
    if done.returncode != 0:
        print(f"no anchor: {''.join(done.stderr.strip().splitlines()[-1:])}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def describe(result):
    """Lines for the terminal, and the cells of a row of the page."""
    runs = result["runs"]
    accuracies = [run["accuracy"] for run in runs]
    goal = GOALS[result["goal"]]
    stands, why = judge(accuracies, goal)
    deviation = f"{100 * statistics.stdev(accuracies):.3f}" if len(runs) > 1 else ""
    where = result["settings"]["device_name"]
    if result["device"] == "cpu":
        where += f", {result['settings']['threads']} threads"
    return {"command": result["command"], "where": where, "seeds": len(runs),
            "held out": result["settings"]["held_out_images"], "mean": f"{100 * statistics.mean(accuracies):.3f} %",
            "standard deviation": deviation, "lowest": f"{100 * min(accuracies):.2f} %",
            "p": f"{p_value(accuracies, goal.accuracy):.2g}",
            "first step to last": f"{1e3 * statistics.median(run['steps_seconds'] for run in runs):.1f} ms",
            "exec to exit": f"{1e3 * statistics.median(run['process_seconds'] for run in runs):.0f} ms",
            "stands": "yes" if stands else f"no: {why}"}


def page(results):
    """The table of bench/RECORDS.md."""
    if not results:
        return "No record has been measured by these rules yet."
    lines = []
    for goal in GOALS:
        of_goal = [result for result in results if result["goal"] == goal]
        if not of_goal:
            continue
        header = list(describe(of_goal[0]))
        lines += [f"**A mean of {goal} %**", "", "| " + " | ".join(header) + " | commit, date |", "|---" * (len(header) + 1) + "|"]
        for result in of_goal:
            cells = describe(result) | {"command": f"`{result['command']}`"}
            lines.append("| " + " | ".join(str(cell) for cell in cells.values())
                         + f" | {result['machine']['commit']}, {result['machine']['date']} |")
            if result.get("anchor"):
                other = result["anchor"]
                values = other["test_accuracy"]
                lines.append(f"| the public anchor, `bench/pytorch/anchor.py`, PyTorch {other['torch']} | {other['device_name']} "
                             f"| {len(values)} | 0 | {100 * statistics.mean(values):.3f} % | {100 * statistics.stdev(values):.3f} "
                             f"| {100 * min(values):.2f} % | {p_value(values, GOALS[goal].accuracy):.2g} "
                             f"| {1e3 * statistics.median(other['seconds']):.1f} ms |  |  |  |")
        lines.append("")
    return "\n".join(lines[:-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", required=True)
    parser.add_argument("--device", choices=["cpu", "cuda"], required=True)
    parser.add_argument("--goal", choices=GOALS, required=True)
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0 leaves the default")
    parser.add_argument("--seeds", type=int, default=0, help="0: as many as the rules ask for")
    parser.add_argument("--anchor", action="store_true", help="train the public anchor's network in PyTorch too")
    parser.add_argument("--out", type=pathlib.Path, help="write every run as JSON")
    parser.add_argument("flags", nargs="*", help="after --: further flags of weft train")
    options = parser.parse_args()
    goal = GOALS[options.goal]
    seeds = options.seeds or goal.seeds
    with gpu_state.Watched() as gpu:
        measured = measure(options.weft, goal, seeds, options.device, options.threads, options.flags)
    result = {"benchmark": "record", "goal": options.goal, "device": options.device, "machine": machine(),
              "gpu_state": gpu.summary() if options.device == "cuda" else None, **measured}
    if options.anchor:
        result["anchor"] = anchor(seeds, options.device)
    for name, cell in describe(result).items():
        print(f"{name:20} {cell}")
    if options.out:
        write_result(options.out, result)
    sys.exit(0 if judge([run["accuracy"] for run in result["runs"]], goal)[0] else 1)


if __name__ == "__main__":
    main()

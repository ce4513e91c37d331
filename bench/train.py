#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains each network for several seeds and writes accuracy and epoch times as one JSON file.

    bench/train.py --weft build/cuda/weft --device cuda --out bench/results/train-h200.json

Each run is one process of the `weft` program; an epoch's time is the one that it reports for
training alone. Medians are over all epochs of all seeds. Where PyTorch can be imported, its
yardsticks (bench/torch_cpu.py, bench/torch_cuda.py) are measured in the same run.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

from machine import ROOT, machine

# model, epochs, batch size, seeds at most; all else is the default recipe. The epochs are those of the accuracy
# promise.
RUNS = {
    "cpu": [("mlp", 10, 64, 5), ("lenet5", 5, 64, 5), ("convnet", 4, 64, 1)],
    "cuda": [("mlp", 10, 64, 5), ("mlp", 10, 256, 5), ("lenet5", 5, 64, 5), ("lenet5", 5, 256, 5),
             ("convnet", 4, 64, 5), ("convnet", 4, 256, 5)],
}


def train(weft, device, threads, model, epochs, batch, seed):
    with tempfile.TemporaryDirectory() as folder:
        command = [weft, "train", "--model", model, "--epochs", str(epochs), "--batch-size", str(batch),
                   "--seed", str(seed), "--device", device, "--dataset", "mnist", "--json",
                   "--progress", "off", "--out", f"{folder}/run"]
        if threads:
            command += ["--threads", str(threads)]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} exited with {done.returncode}: {done.stderr.strip()}")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    seconds = [event["seconds"] for event in events if event["event"] == "epoch"]
    end = events[-1]
    assert end["event"] == "end" and len(seconds) == epochs
    return end["test_accuracy"], seconds, end["seconds"]


def yardsticks(device, threads, rows):
    if device == "cpu":
        arguments = ["torch_cpu.py", "--threads", str(threads), "--models", ",".join(row["model"] for row in rows)]
    else:
        arguments = ["torch_cuda.py", "--runs", ",".join(f"{row['model']}:{row['batch']}" for row in rows)]
    arguments[0] = str(ROOT / "bench" / arguments[0])
    done = subprocess.run([sys.executable] + arguments, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"no PyTorch yardstick: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return []
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", required=True)
    parser.add_argument("--device", choices=RUNS, required=True)
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0 leaves the default")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--models", default="", help="comma-separated subset of the models")
    parser.add_argument("--no-yardsticks", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()

    rows = []
    for model, epochs, batch, most_seeds in RUNS[options.device]:
        if options.models and model not in options.models.split(","):
            continue
        accuracies, seconds, totals = [], [], []
        seeds = min(options.seeds, most_seeds)
        for seed in range(1, seeds + 1):
            accuracy, epoch_seconds, total = train(options.weft, options.device, options.threads, model, epochs,
                                                   batch, seed)
            accuracies.append(accuracy)
            seconds += epoch_seconds
            totals.append(total)
        rows.append({"model": model, "batch": batch, "epochs": epochs, "seeds": seeds,
                     "test_accuracy": accuracies, "accuracy_mean": statistics.mean(accuracies),
                     "accuracy_min": min(accuracies), "epoch_seconds_median": statistics.median(seconds),
                     "epoch_seconds_min": min(seconds), "epoch_seconds_max": max(seconds),
                     "epoch_samples": len(seconds), "process_seconds": totals})
        print(f"{model:10} batch {batch:5} {epochs} epochs: accuracy {min(accuracies):.4f} to {max(accuracies):.4f},"
              f" epoch {statistics.median(seconds):.4f} s", flush=True)
    result = {"benchmark": "train", "device": options.device, "threads": options.threads, "machine": machine(),
              "rows": rows, "yardsticks": [] if options.no_yardsticks else yardsticks(options.device, options.threads, rows)}
    for row in result["yardsticks"]:
        print(row, flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()

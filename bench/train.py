#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains each network for several seeds and measures accuracy, epochs and time: `weft bench train`.

    bench/train.py --weft build/cuda/weft --device cuda --out bench/results/train-h200.json

A row is what one command reaches that anybody can type, with its defaults; the pages show the command. Seeds, the
device and where the results go are all that a run adds to it. Each run is one process of the `weft` program; an
epoch's time is the one that it reports for training alone, the time to accuracy is the sum over a run's epochs, and
the time of a process runs from its start to its end, when its checkpoint is saved. Times are those of the first ten seeds,
one after another, and medians are over all their epochs. Where further seeds tell the accuracy, --jobs of them run side by
side on a GPU: they compute the same, and their times are not kept. Where PyTorch can be imported, its epochs (pytorch/cpu.py, pytorch/gpu.py) are measured in the same run.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass

import compare
import gpu_state
from machine import machine, write_result

HERE = pathlib.Path(__file__).resolve().parent


@dataclass(frozen=True)
class Run:
    """What `weft train` is asked for; the rest is the default, or what the recipe says."""
    model: str
    epochs: int  # or 0: what the recipe says, as for `batch`
    batch: int
    seeds: int
    precision: str = "fp32"
    fuse: bool = True
    recipe: str = ""  # decides all but `fuse`
    dataset: str = "mnist"
    images: int = 0  # of the training set; 0: all

    def flags(self):
        """Of `weft train`, as the pages show them."""
        if self.recipe:
            flags = ["--recipe", self.recipe]
        else:
            flags = ["--model", self.model, "--epochs", self.epochs, "--batch-size", self.batch]
        if self.dataset != "mnist":  # the default
            flags += ["--dataset", self.dataset]
        if self.precision != "fp32":
            flags += ["--precision", self.precision]
        if not self.fuse:
            flags += ["--impl", "fuse=off"]
        if self.images:
            flags += ["--limit-train", self.images]
        return [str(flag) for flag in flags]

    def name(self):
        what = f"--recipe {self.recipe}" if self.recipe else f"{self.model}, batch {self.batch}, {self.precision}"
        return what + ("" if self.fuse else ", fuse=off")


# The epochs are those of the accuracy promise. An accuracy is of 100 seeds for `fast`, of 30 where a run takes up to
# three seconds, and of 10 elsewhere.
FAST, QUICK, SLOW = 100, 30, 10
TIMED = 10  # seeds whose times are kept where the others run side by side
RUNS = {
    "cpu": [Run("mlp", 10, 64, SLOW), Run("lenet5", 5, 64, SLOW), Run("convnet", 4, 64, SLOW),
            Run("resnet9", 2, 64, SLOW, dataset="shapes", images=1280)],
    "cuda": [Run("lenet5", 0, 0, FAST, recipe="fast"), Run("lenet5", 0, 0, FAST, fuse=False, recipe="fast"),
             Run("convnet-bn", 0, 0, QUICK, recipe="accurate"), Run("lenet5", 5, 64, QUICK),
             Run("mlp", 10, 64, QUICK), Run("mlp", 10, 256, QUICK), Run("mlp", 10, 1024, QUICK),
             Run("mlp", 10, 1024, QUICK, "tf32"), Run("mlp", 10, 1024, QUICK, "bf16"),
             Run("mlp", 10, 1024, QUICK, "bf16", False),
             Run("convnet", 4, 64, QUICK), Run("convnet", 4, 256, QUICK), Run("convnet", 4, 1024, QUICK),
             Run("convnet", 4, 1024, QUICK, "tf32"), Run("convnet", 4, 1024, QUICK, "bf16"),
             Run("convnet", 4, 1024, QUICK, "bf16", False),
             Run("resnet9", 3, 512, SLOW, "bf16", dataset="shapes", images=50000)],
}


def train(weft, device, threads, run, seed):
    """The events that one process prints, and its seconds from start to end."""
    with tempfile.TemporaryDirectory() as folder:
        command = [weft, "train", *run.flags(), "--seed", str(seed), "--device", device, "--json", "--progress", "off",
                   "--out", f"{folder}/run"]
        if threads:
            command += ["--threads", str(threads)]
        begin = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True)
        seconds = time.perf_counter() - begin
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} exited with {done.returncode}: {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines()], seconds


def checked(run, events):
    """(start event, seconds of each epoch, accuracy) of a run's events."""
    seconds = [event["seconds"] for event in events if event["event"] == "epoch"]
    start, end = events[0], events[-1]
    if start["event"] != "start" or end["event"] != "end" or len(seconds) != start["epochs"]:
        sys.exit(f"{run.name()}: unexpected events: {[event['event'] for event in events]}")
    if start["dataset"] != run.dataset:
        sys.exit(f"{run.name()}: expected the data set {run.dataset}, found {start['dataset']}")
    return start, seconds, end["test_accuracy"]


def measure(weft, device, threads, jobs, run, most_seeds):
    accuracies, epochs, medians, sums, processes = [], [], [], [], []
    seeds = min(most_seeds or run.seeds, run.seeds)
    timed = min(seeds, TIMED) if jobs > 1 else seeds
    for seed in range(1, timed + 1):
        events, process = train(weft, device, threads, run, seed)
        start, seconds, accuracy = checked(run, events)
        accuracies.append(accuracy)
        epochs += seconds
        medians.append(statistics.median(seconds))
        sums.append(sum(seconds))
        processes.append(process)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        further = pool.map(lambda seed: train(weft, device, threads, run, seed), range(timed + 1, seeds + 1))
        accuracies += [checked(run, events)[2] for events, _ in further]
    row = asdict(run) | {"command": " ".join(["weft", "train", *run.flags()]),
                         "model": start["model"], "batch": start["batch_size"], "epochs": start["epochs"],
                         "precision": start["precision"], "seeds": seeds, "timed_seeds": timed, "lr": start["lr"],
                         "label_smoothing": start["label_smoothing"],
                         "train_images": start["train_images"]}
    return row | {"test_accuracy": accuracies, "accuracy_mean": statistics.mean(accuracies),
                  "accuracy_min": min(accuracies),
                  "accuracy_deviation": statistics.stdev(accuracies) if seeds > 1 else None,
                  "epoch_seconds_median": statistics.median(epochs),
                  "epoch_seconds_interval": compare.interval_of(medians),
                  "epoch_seconds_min": min(epochs), "epoch_seconds_max": max(epochs), "epoch_samples": len(epochs),
                  "train_seconds_median": statistics.median(sums), "train_seconds": sums,
                  "process_seconds_median": statistics.median(processes), "process_seconds": processes}


def yardsticks(device, threads, rows):
    """PyTorch's epochs of the same networks, batches and precisions."""
    if device == "cpu":
        runs = dict.fromkeys(f"{row['model']}:{row['batch']}:{row['images'] or 60000}" for row in rows)
        calls = [["pytorch/cpu.py", "--threads", str(threads), "--runs", ",".join(runs)]]
    else:
        calls = []
        for precision in dict.fromkeys(row["precision"] for row in rows):
            runs = dict.fromkeys(f"{row['model']}:{row['batch']}" for row in rows if row["precision"] == precision)
            calls.append(["pytorch/gpu.py", "--precision", precision, "--runs", ",".join(runs)])
    found = []
    for script, *arguments in calls:
        done = subprocess.run([sys.executable, str(HERE / script), *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            print(f"no PyTorch yardstick: {''.join(done.stderr.strip().splitlines()[-1:])}", file=sys.stderr)
            continue
        found += [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return found


def print_table(rows, peers):
    print(f"\n{'':34} {'accuracy, mean (deviation, lowest)':>34} {'epoch':>10} {'training':>10} {'process':>10}  PyTorch's epoch")
    for row, run in rows:
        best = min((peer for peer in peers if peer["model"] == row["model"] and peer["batch"] == row["batch"]
                    and peer.get("precision", "fp32") == row["precision"]),
                   key=lambda peer: peer["epoch_seconds"], default=None)
        peer = f"{1000 * best['epoch_seconds']:.1f} ms ({best['yardstick']})" if best else "not measured"
        deviation = "" if row["accuracy_deviation"] is None else f"{100 * row['accuracy_deviation']:.2f}, "
        accuracy = f"{100 * row['accuracy_mean']:.2f} % ({deviation}{100 * row['accuracy_min']:.2f} %)"
        print(f"{run.name():34} {accuracy:>34} {1000 * row['epoch_seconds_median']:>7.1f} ms"
              f" {row['train_seconds_median']:>8.3f} s {row['process_seconds_median']:>8.3f} s  {peer}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", required=True)
    parser.add_argument("--device", choices=RUNS, required=True)
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0 leaves the default")
    parser.add_argument("--seeds", type=int, default=0, help="at most; 0: as many as the pages want")
    parser.add_argument("--jobs", type=int, default=0,
                        help="processes at a time beyond the first ten seeds; 0: on a GPU half of the CPU cores, at most 8; else 1")
    parser.add_argument("--models", default="", help="comma-separated networks or recipes, default all")
    parser.add_argument("--no-yardsticks", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, help="write every measurement as JSON")
    options = parser.parse_args()

    chosen = [name for name in options.models.split(",") if name]
    known = {name for run in RUNS[options.device] for name in (run.model, run.recipe) if name}
    for name in chosen:
        if name not in known:
            print(f"weft: error: bench train measures nothing of '{name}' on {options.device}: expected "
                  f"{', '.join(sorted(known))}", file=sys.stderr)
            sys.exit(2)
    jobs = options.jobs or (max(1, min(8, (os.cpu_count() or 1) // 2)) if options.device == "cuda" else 1)
    rows = []

    def write(peers):
        if options.out is not None:
            write_result(options.out, {"benchmark": "train", "device": options.device, "threads": options.threads,
                                       "machine": machine(), "rows": [row for row, _ in rows], "yardsticks": peers})

    for run in RUNS[options.device]:
        if chosen and run.model not in chosen and run.recipe not in chosen:
            continue
        print(f"{run.name()} ...", file=sys.stderr, flush=True)
        with gpu_state.Watched() as gpu:
            row = measure(options.weft, options.device, options.threads, jobs, run, options.seeds)
        rows.append((row | {"gpu_state": gpu.summary() if options.device == "cuda" else None}, run))
        write([])  # what is measured is kept when the time for a run is over
    peers = [] if options.no_yardsticks else yardsticks(options.device, options.threads, [row for row, _ in rows])
    print_table(rows, peers)
    write(peers)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Searches the smallest networks that reach 98, 99 or 99.5 % of MNIST, as .net files.

    bench/small_networks.py search --weft build/cuda/weft --goal 99 --seconds 540 --out runs/small
    bench/small_networks.py measure --weft build/cuda/weft runs/small/99-2950.net --seeds 30

`search` draws networks of convolutions, also separable ones, batch norm, pooling and a last layer with at most as many parameters as the
smallest that was published, and trains each on 50,000 images for a quarter of the epochs. It goes on with the better quarter for all
epochs, a seed in each round, and with the better half of each round, judged by the other 10,000 images (--val-split): by whether the mean
is above the goal, and then by their size. Test images decide nothing. It writes the smallest networks whose mean reached the goal. `measure` then trains one on all images for many seeds,
and prints mean, standard deviation and lowest of the test accuracy. Flags after `--` go to `weft train` instead of those of the goal, which
the first line of a file tells.
"""
import argparse
import concurrent.futures
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

COMMAND = "weft train --model"
PUBLISHED = {"98": 575, "99": 3888, "99.5": 8900}  # parameters
TRAINING = {  # flags of `weft train`: the more parameters, the more there is to hold back
    "98": "--epochs 60 --batch-size 128 --lr 0.1 --weight-decay 0.00001 --ema 0.998".split(),
    "99": "--epochs 60 --batch-size 128 --lr 0.1 --weight-decay 0.00001 --ema 0.998 --crop 1".split(),
    "99.5": "--epochs 80 --batch-size 128 --lr 0.1 --weight-decay 0.00002 --ema 0.998 --augment".split(),
}


def text_of(stages, head):
    """A network of (filters, kernel, stride, pool, separable) stages: each a convolution, batch norm and ReLU.

    A separable convolution is one of each channel by itself, with batch norm, and then one of single pixels."""
    lines, channels = [], 1
    for filters, kernel, stride, pool, separable in stages:
        window = f"{kernel}x{kernel}" + (f" stride {stride}" if stride > 1 else "") + (f" pad {kernel // 2}" if kernel > 1 else "")
        if separable:
            lines += [f"conv {channels} {window} groups {channels} no_bias", "batch_norm"]
            window = "1x1"
        lines += [f"conv {filters} {window} no_bias", "batch_norm", "relu"]
        lines += [f"max_pool {pool}"] if pool > 1 else []
        channels = filters
    return "\n".join(lines + ([head] if head else []) + ["linear classes"]) + "\n"


def parameters_of(stages, head, classes=10):
    """Weights, and the two of each channel of a batch norm; its running statistics are not trained."""
    total, channels, side = 0, 1, 28
    for filters, kernel, stride, pool, separable in stages:
        if separable:
            total += channels * (kernel * kernel + 2) + filters * channels + 2 * filters
        else:
            total += filters * channels * kernel * kernel + 2 * filters
        channels, side = filters, ((side - 1) // stride + 1) // pool
    return total + classes * (channels * (1 if head else side * side) + 1)


def draw(rng, most):
    """A network of at most so many parameters, and of at least three quarters as many. Its stages halve the picture while that
    has more than 7 rows, and have more filters from one to the next. Behind the first they are mostly separable."""
    while True:
        filters, side, stages = rng.randint(3, 14), 28, []
        for i in range(rng.randint(3, 6)):
            halves = rng.random() < (0.85 if side > 7 else 0.25 if side > 4 else 0)
            by_stride = halves and rng.random() < 0.3
            stages.append((filters, rng.choice([3, 3, 5]), 2 if by_stride else 1, 2 if halves and not by_stride else 1,
                           i > 0 and rng.random() < 0.8))
            side = (side + by_stride) // 2 if halves else side
            filters = round(filters * rng.uniform(1, 1.9))
        head = rng.choice(["global_avg_pool", "global_avg_pool", "global_max_pool", ""])
        if 0.75 * most <= parameters_of(stages, head) <= most:
            return tuple(stages), head


def run(weft, device, path, seed, flags):
    """(accuracy of the held-out images or None, of the test images)"""
    with tempfile.TemporaryDirectory() as folder:
        command = [weft, "train", "--model", str(path), *flags, "--seed", str(seed), "--device", device, "--json",
                   "--progress", "off", "--out", f"{folder}/run"]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 1:  # it diverged
        return 0.0, 0.0
    if done.returncode != 0:
        sys.exit(f"small_networks.py: error: {' '.join(command)}: {done.stderr.strip()}")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    epochs = [event for event in events if event["event"] == "epoch"]
    validation = epochs[-1].get("validation")
    return validation["accuracy"] if validation else None, events[-1]["test_accuracy"]


def search(options):
    goal, most = float(options.goal) / 100, options.parameters or PUBLISHED[options.goal]
    rng, begin, found = random.Random(options.seed), time.perf_counter(), {}
    training = options.flags or TRAINING[options.goal]
    flags = [*training, "--val-split", "0.16667"]
    options.out.mkdir(parents=True, exist_ok=True)

    def train(key, seed, flags):
        if time.perf_counter() - begin > options.seconds:
            return None
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "candidate.net"
            path.write_text(text_of(*key))
            return run(options.weft, options.device, path, seed, flags)[0]

    def train_all(keys, seed, flags):
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            accuracies = pool.map(lambda key: train(key, seed, flags), keys)
            return [(key, accuracy) for key, accuracy in zip(keys, accuracies) if accuracy is not None]

    def order(key):
        mean = statistics.mean(found[key])
        return (0, parameters_of(*key)) if mean >= goal else (1, -mean)

    drawn = list(dict.fromkeys(draw(rng, most) for _ in range(options.width)))
    at = flags.index("--epochs") + 1
    quick = [*flags[:at], str(max(1, int(flags[at]) // 4)), *flags[at + 1:]]
    alive = [key for key, _ in sorted(train_all(drawn, 1, quick), key=lambda pair: -pair[1])][:max(4, options.width // 4)]
    seed = 0
    while time.perf_counter() - begin < options.seconds:
        seed += 1
        for key, accuracy in train_all(alive, seed, flags):
            found.setdefault(key, []).append(accuracy)
        alive = sorted(found, key=order)[:max(4, options.width // 4 // 2 ** seed)]
        best, head = alive[0]  # and neighbours of the best, which start from nothing
        for _ in range(options.width // 8):
            stages = tuple((max(2, filters + rng.choice([-2, -1, 0, 0, 1])), *rest) for filters, *rest in best)
            if (stages, head) not in found and (stages, head) not in alive and parameters_of(stages, head) <= most:
                alive.append((stages, head))
    print(f"{'parameters':>10} {'seeds':>5} {'mean of the held-out':>21}")
    for key in sorted(found, key=order)[:options.keep]:
        mean, size = statistics.mean(found[key]), parameters_of(*key)
        print(f"{size:>10} {len(found[key]):>5} {100 * mean:>19.3f} %" + ("" if mean >= goal else "  below the goal"))
        if mean >= goal and len(found[key]) > 1:
            name = f"{options.goal}-{size}.net"
            words = f"# {size} parameters. {COMMAND} {name} {' '.join(training)}\n"
            (options.out / name).write_text(words + text_of(*key))


def measure(options):
    first = options.network.read_text().splitlines()[0]
    flags = options.flags or first.split(COMMAND)[1].split()[1:]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        accuracies = list(pool.map(lambda seed: run(options.weft, options.device, options.network, seed, flags)[1],
                                   range(1, options.seeds + 1)))
    deviation = f"{100 * statistics.stdev(accuracies):.3f}" if len(accuracies) > 1 else ""
    print(json.dumps({"network": options.network.name, "command": " ".join([COMMAND, options.network.name, *flags]),
                      "seeds": len(accuracies), "mean": statistics.mean(accuracies), "deviation": deviation,
                      "lowest": min(accuracies), "test_accuracy": accuracies}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one, two = commands.add_parser("search"), commands.add_parser("measure")
    for sub in (one, two):
        sub.add_argument("--weft", required=True)
        sub.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
        sub.add_argument("--jobs", type=int, default=1, help="trainings that run at the same time")
    one.add_argument("--goal", choices=PUBLISHED, required=True)
    one.add_argument("--parameters", type=int, default=0, help="at most; 0: the smallest that was published")
    one.add_argument("--seconds", type=float, default=540)
    one.add_argument("--width", type=int, default=96, help="networks of the first round")
    one.add_argument("--keep", type=int, default=10, help="networks that are shown")
    one.add_argument("--seed", type=int, default=1, help="of what is drawn")
    one.add_argument("--out", type=pathlib.Path, required=True, help="folder of the .net files")
    one.set_defaults(call=search)
    two.add_argument("network", type=pathlib.Path)
    two.add_argument("--seeds", type=int, default=30)
    two.set_defaults(call=measure)
    own, more = sys.argv[1:], []
    if "--" in own:
        own, more = own[:own.index("--")], own[own.index("--") + 1:]
    options = parser.parse_args(own)
    options.flags = more
    options.call(options)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PyTorch's epoch on the CPU: the yardstick for `weft train --device cpu`.

    bench/torch_cpu.py --threads 2 [--models mlp,lenet5,convnet] [--batch 64] [--seconds 10]

Images lie in memory as floats, are shuffled by index, and the step is the usual one: SGD with
Nesterov momentum and weight decay. Steps are timed in chunks; an epoch is 60000 / batch times the
median step. The time of a step does not depend on the pixels, so they are random. Prints one JSON
object per network.
"""
import argparse
import json
import statistics
import time

import torch
from torch.nn.functional import cross_entropy
from torch_networks import NETWORKS

IMAGES = 60000
CHUNK = 20  # steps


def epoch_seconds(name, batch, seconds):
    torch.manual_seed(1)
    model = NETWORKS[name]().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True, weight_decay=5e-4)
    images = torch.randn(IMAGES, 1, 28, 28)
    labels = torch.randint(0, 10, (IMAGES,))
    order = torch.randperm(IMAGES)
    position = 0

    def step():
        nonlocal position
        chosen = order[position:position + batch]
        position = (position + batch) % (IMAGES - batch)
        optimizer.zero_grad()
        cross_entropy(model(images[chosen]), labels[chosen]).backward()
        optimizer.step()

    chunks = []
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds or len(chunks) < 5:
        start = time.perf_counter()
        for _ in range(CHUNK):
            step()
        chunks.append((time.perf_counter() - start) / CHUNK)
    return statistics.median(chunks[1:]) * IMAGES / batch


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2, help="0 leaves PyTorch's default")
    parser.add_argument("--models", default=",".join(NETWORKS))
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=10, help="of measurement per network")
    options = parser.parse_args()
    if options.threads > 0:
        torch.set_num_threads(options.threads)
    for name in options.models.split(","):
        print(json.dumps({"yardstick": "pytorch-cpu", "model": name, "batch": options.batch,
                          "threads": torch.get_num_threads(),
                          "epoch_seconds": round(epoch_seconds(name, options.batch, options.seconds), 4),
                          "torch": torch.__version__}), flush=True)


if __name__ == "__main__":
    main()

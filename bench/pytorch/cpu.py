#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PyTorch's epoch on the CPU: the yardstick for `weft train --device cpu`.

    bench/pytorch/cpu.py --threads 2 [--runs mlp:64,resnet9:64:1280] [--seconds 10]

A run names a network, its batch, and the images of an epoch where these are not all of MNIST's 60,000
(resnet9: 50,000 coloured images of 32 x 32). Images lie in memory as floats, are shuffled by index,
and the step is the usual one: SGD with Nesterov momentum and weight decay. Steps are timed in chunks
of half a second at least; an epoch is images / batch times the median step. The time of a step does
not depend on the pixels, so they are random. Prints one JSON object per run.
"""
import argparse
import json
import statistics
import time

import torch
from torch.nn.functional import cross_entropy
from networks import COLOUR, NETWORKS

CHUNK_SECONDS = 0.5


def epoch_seconds(name, batch, images, seconds):
    torch.manual_seed(1)
    model = (NETWORKS | COLOUR)[name]().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True, weight_decay=5e-4)
    pixels = torch.randn(images, *((3, 32, 32) if name in COLOUR else (1, 28, 28)))
    labels = torch.randint(0, 10, (images,))
    order = torch.randperm(images)
    position = 0

    def step():
        nonlocal position
        chosen = order[position:position + batch]
        position = (position + batch) % (images - batch)
        optimizer.zero_grad()
        cross_entropy(model(pixels[chosen]), labels[chosen]).backward()
        optimizer.step()

    chunks = []
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds or len(chunks) < 5:
        start, steps = time.perf_counter(), 0
        while time.perf_counter() - start < CHUNK_SECONDS:
            step()
            steps += 1
        chunks.append((time.perf_counter() - start) / steps)
    return statistics.median(chunks[1:]) * images / batch


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2, help="0 leaves PyTorch's default")
    parser.add_argument("--runs", default=",".join(f"{name}:64" for name in NETWORKS),
                        help="network:batch[:images], comma-separated")
    parser.add_argument("--seconds", type=float, default=10, help="of measurement per run")
    options = parser.parse_args()
    if options.threads > 0:
        torch.set_num_threads(options.threads)
    for run in options.runs.split(","):
        name, batch, *count = run.split(":")
        images = int(count[0]) if count else 50000 if name in COLOUR else 60000
        print(json.dumps({"yardstick": "pytorch-cpu", "model": name, "batch": int(batch), "images": images,
                          "threads": torch.get_num_threads(),
                          "epoch_seconds": round(epoch_seconds(name, int(batch), images, options.seconds), 4),
                          "torch": torch.__version__}), flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PyTorch's epoch on a GPU, eager and with CUDA graphs: the yardsticks for `weft train --device cuda`.

    bench/pytorch/gpu.py [--runs mlp:64,lenet5:64,lenet5:256,convnet:64] [--precision fp32|tf32|bf16]

Images lie on the GPU; a step gathers its batch by index_select, so that nothing crosses the bus.
With CUDA graphs the whole step (gather, forward, loss, backward, update, next position) is one
graph. An epoch is 60000 / batch steps, or 50000 / batch of colour images for resnet9; the median of several
epochs is reported. The time of a step does not depend on the pixels, so they are random. bf16 is torch.autocast.
Networks for colour images run with channels last, too. Prints one JSON object per network and mode.
"""
import argparse
import itertools
import json
import statistics
import sys
import time

import torch
from torch.nn.functional import cross_entropy
from networks import COLOUR, NETWORKS

RUNS = "mlp:64,mlp:256,lenet5:64,lenet5:256,convnet:64,convnet:256"


class Training:
    """One network, its data and optimizer; step() reads no value on the host."""

    def __init__(self, name, batch, autocast, memory_format):
        torch.manual_seed(1)
        self.model = (NETWORKS | COLOUR)[name]().cuda().train().to(memory_format=memory_format)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9, nesterov=True,
                                         weight_decay=5e-4)
        shape = (50000, 3, 32, 32) if name in COLOUR else (60000, 1, 28, 28)
        self.count = shape[0]
        self.images = torch.randn(shape, device="cuda").to(memory_format=memory_format)
        self.labels = torch.randint(0, 10, (self.count,), device="cuda")
        self.order = torch.randperm(self.count, device="cuda")
        self.positions = torch.arange(batch, device="cuda")
        self.batch, self.autocast = batch, autocast

    def step(self):
        chosen = self.order.index_select(0, self.positions)
        images, labels = self.images.index_select(0, chosen), self.labels.index_select(0, chosen)
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=self.autocast, cache_enabled=False):
            loss = cross_entropy(self.model(images), labels)
        loss.backward()
        self.optimizer.step()
        self.positions.add_(self.batch).remainder_(self.count)


def captured(training):
    """The step as one CUDA graph, after the warm-up on a side stream that capturing needs."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(5):
            training.step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        training.step()
    return graph.replay


def epoch_seconds(step, images, batch, epochs):
    steps = max(1, images // batch)
    times = []
    for _ in range(epochs + 1):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(steps):
            step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * images / batch / steps)
    return statistics.median(times[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", default=RUNS, help="network:batch, comma-separated")
    parser.add_argument("--precision", choices=["fp32", "tf32", "bf16"], default="fp32")
    parser.add_argument("--epochs", type=int, default=3, help="timed, after one to warm up")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("no GPU that PyTorch can use")
    torch.backends.cuda.matmul.allow_tf32 = options.precision != "fp32"
    torch.backends.cudnn.allow_tf32 = options.precision != "fp32"
    torch.backends.cudnn.benchmark = True
    for run in options.runs.split(","):
        name, batch = run.split(":")[0], int(run.split(":")[1])
        formats = {"": torch.contiguous_format}
        if name in COLOUR:
            formats["-channels-last"] = torch.channels_last
        for mode, suffix in itertools.product(("eager", "graphs"), formats):
            training = Training(name, batch, options.precision == "bf16", formats[suffix])
            step = training.step if mode == "eager" else captured(training)
            seconds = epoch_seconds(step, training.count, batch, options.epochs)
            print(json.dumps({"yardstick": f"pytorch-cuda-{mode}{suffix}", "model": name, "batch": batch,
                              "precision": options.precision, "images": training.count,
                              "epoch_seconds": round(seconds, 6),
                              "gpu": torch.cuda.get_device_name(), "torch": torch.__version__}), flush=True)


if __name__ == "__main__":
    main()

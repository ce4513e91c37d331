#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PyTorch's DistributedDataParallel over NCCL: the yardstick of `weft bench scaling`.

    bench/pytorch/ddp.py --devices 2 --runs convnet:2048,convnet:256,lenet5:256 [--precision fp32|tf32|bf16]

A run is a network and the images of a step on each GPU. For 1 and for --devices GPUs, the images per second of
a training step are measured, as gpu.py has it: the images lie on each GPU, and a step gathers its own.
DDP averages gradients in buckets that overlap with backward. NVLink multicast is off, as in Weft. The median of
several rounds of steps is reported, of the slowest rank. Prints one JSON object per run and number of GPUs.
"""
import argparse
import json
import os
import statistics
import sys
import time

os.environ.setdefault("NCCL_NVLS_ENABLE", "0")

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from networks import COLOUR, NETWORKS

STEPS, ROUNDS = 100, 7


def measure(rank, size, name, batch, precision):
    """Seconds of a step on the slowest rank."""
    torch.manual_seed(1 + rank)
    model = (NETWORKS | COLOUR)[name]().cuda(rank).train()
    if size > 1:
        model = DistributedDataParallel(model, device_ids=[rank], gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True, weight_decay=5e-4)
    shape = (50000, 3, 32, 32) if name in COLOUR else (60000, 1, 28, 28)
    images = torch.randn(shape, device=rank)
    labels = torch.randint(0, 10, (shape[0],), device=rank)
    order = torch.randperm(shape[0], device=rank)
    positions = torch.arange(batch, device=rank)

    def step():
        chosen = order.index_select(0, positions)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=precision == "bf16", cache_enabled=False):
            loss = cross_entropy(model(images.index_select(0, chosen)), labels.index_select(0, chosen))
        loss.backward()
        optimizer.step()
        positions.add_(batch).remainder_(shape[0])

    times = []
    for _ in range(ROUNDS + 1):
        torch.cuda.synchronize(rank)
        if size > 1:
            dist.barrier()
        begin = time.perf_counter()
        for _ in range(STEPS):
            step()
        torch.cuda.synchronize(rank)
        seconds = torch.tensor([(time.perf_counter() - begin) / STEPS], device=rank)
        if size > 1:
            dist.all_reduce(seconds, op=dist.ReduceOp.MAX)
        times.append(seconds.item())
    return statistics.median(times[1:])


def work(rank, size, options):
    torch.cuda.set_device(rank)
    torch.backends.cuda.matmul.allow_tf32 = options.precision != "fp32"
    torch.backends.cudnn.allow_tf32 = options.precision != "fp32"
    torch.backends.cudnn.benchmark = True
    if size > 1:
        dist.init_process_group("nccl", init_method=f"tcp://127.0.0.1:{options.port}", rank=rank, world_size=size)
    for run in options.runs.split(","):
        name, batch = run.split(":")[0], int(run.split(":")[1])
        seconds = measure(rank, size, name, batch, options.precision)
        if rank == 0:
            print(json.dumps({"yardstick": "pytorch-ddp", "model": name, "batch_per_device": batch, "devices": size,
                              "precision": options.precision, "step_seconds": round(seconds, 9),
                              "images_per_second": round(size * batch / seconds, 1),
                              "gpu": torch.cuda.get_device_name(), "torch": torch.__version__,
                              "nccl": ".".join(map(str, torch.cuda.nccl.version()))}), flush=True)
    if size > 1:
        dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--runs", default="convnet:2048,convnet:256,lenet5:256")
    parser.add_argument("--precision", choices=["fp32", "tf32", "bf16"], default="fp32")
    parser.add_argument("--port", type=int, default=29577)
    options = parser.parse_args()
    if torch.cuda.device_count() < options.devices:
        sys.exit(f"{torch.cuda.device_count()} GPUs that PyTorch can use, {options.devices} asked for")
    work(0, 1, options)
    if options.devices > 1:
        mp.spawn(work, args=(options.devices, options), nprocs=options.devices)


if __name__ == "__main__":
    main()

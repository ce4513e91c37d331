#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The public anchor of the MNIST record in PyTorch, written anew: one epoch to 99 %, with the data on the device.

    bench/pytorch/anchor.py --device cuda --seeds 30

conv 5x5 (24), ReLU, max pool, conv 3x3 (32), ReLU, max pool, 256, ReLU, 10; batches of 256; Adam with betas 0.7 and 0.9;
one-cycle up to a rate of 0.01; one epoch. Published: 99.04 % (mean of 30 seeds) in 0.76 s on a laptop's GPU. Prints one line
of JSON: accuracies, and the seconds from the first step to the last, without the first seed's, which loads the kernels.
"""
import argparse
import gzip
import json
import os
import pathlib
import sys
import time

import torch
from torch import nn

MEAN, STDDEV, BATCH, RATE = 0.1307, 0.3081, 256, 0.01


def data_folder(wanted):
    for folder in (wanted, os.environ.get("WEFT_DATA_DIR"), "data/mnist"):
        if folder and list(pathlib.Path(folder).glob("train-images*")):
            return pathlib.Path(folder)
    sys.exit("anchor.py: error: no MNIST: expected --data-dir, $WEFT_DATA_DIR or data/mnist")


def read(folder, name, device):
    path = next(iter(sorted(folder.glob(name + "*"))))
    raw = path.read_bytes()
    raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    array = torch.frombuffer(bytearray(raw), dtype=torch.uint8).to(device)
    return (array[16:].view(-1, 1, 28, 28).float() / 255 - MEAN) / STDDEV if raw[3] == 3 else array[8:].long()


def network():
    return nn.Sequential(nn.Conv2d(1, 24, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(24, 32, 3), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(800, 256), nn.ReLU(), nn.Linear(256, 10))


def synchronize(device):
    if device == "cuda":
        torch.cuda.synchronize()


def run(seed, images, labels, device, limit):
    """(the trained network, seconds from the first step to the last)"""
    torch.manual_seed(seed)
    net = network().to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=RATE, betas=(0.7, 0.9))
    count = min(len(images), limit) if limit else len(images)
    steps = count // BATCH
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)
    loss = nn.CrossEntropyLoss()
    synchronize(device)
    begin = time.perf_counter()
    order = torch.randperm(count, device=device)
    for step in range(steps):
        chosen = order[step * BATCH:(step + 1) * BATCH]
        optimizer.zero_grad(set_to_none=True)
        loss(net(images[chosen]), labels[chosen]).backward()
        optimizer.step()
        schedule.step()
    synchronize(device)
    return net, time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--data-dir")
    parser.add_argument("--limit-train", type=int, default=0, help="a try")
    options = parser.parse_args()
    folder = data_folder(options.data_dir)
    images, labels = read(folder, "train-images", options.device), read(folder, "train-labels", options.device)
    test_images, test_labels = read(folder, "t10k-images", options.device), read(folder, "t10k-labels", options.device)
    accuracies, seconds = [], []
    for seed in range(0, options.seeds + 1):  # 0 is not counted
        net, took = run(seed, images, labels, options.device, options.limit_train)
        with torch.no_grad():
            right = sum((net.eval()(part).argmax(1) == own).sum().item()
                        for part, own in zip(test_images.split(2000), test_labels.split(2000)))
        if seed > 0:
            accuracies.append(right / len(test_labels))
            seconds.append(took)
    name = torch.cuda.get_device_name() if options.device == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    print(json.dumps({"torch": torch.__version__, "device_name": name, "test_accuracy": accuracies, "seconds": seconds}))


if __name__ == "__main__":
    main()

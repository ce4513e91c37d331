#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares training recipes on MNIST with PyTorch, on validation images held out of the training set.

    bench/explore_recipes.py accurate|fast --seconds 100 [--only NAME,...] [--device cuda|cpu] [--json FILE]

Every candidate is trained with one seed, then the better ones with another, and so on until the time
is used up. A candidate is chosen by its mean validation accuracy (50,000 images to train on, 10,000
held out); the test accuracy is printed beside it and decides nothing. A step is one CUDA graph, and
several small networks are trained at the same time on streams of their own.
"""
import argparse
import gzip
import json
import math
import pathlib
import statistics
import time

import torch
from torch import nn
from torch.nn import functional

MEAN, STDDEV = 0.1307, 0.3081

# A network is a word per layer: cN conv3x3 pad 1, kN conv5x5 pad 2, vN conv5x5 no pad, r ReLU, p max pool 2,
# b batch norm, gm / ga global max / mean, f flatten, dN dropout N %, lN linear.
PLAIN = "c32 r c32 r p b c64 r b c64 r p b c128 r b gm l10"
BEFORE = "c32 b r c32 b r p c64 b r c64 b r p c128 b r gm l10"
EARLY = "k32 r p b c64 r b c64 r p b c128 r b c128 r b gm l10"
DEFAULT = dict(net=PLAIN, epochs=15, batch=512, lr=0.15, warmup=0.25, final=0.0, momentum=0.9, wd=5e-4,
               ema=0.995, smooth=0.0, rotate=10, scale=0.1, shear=0.1, shift=2.0, bn_momentum=0.1)
ACCURATE = {
    "plain": {},
    "bn-first": {"net": BEFORE},
    "early-pool": {"net": EARLY},
    "flatten": {"net": "c32 r c32 r p b c64 r b c64 r p b c128 r p b f l10"},
    "six-convs": {"net": "c32 r c32 r p b c64 r b c64 r p b c128 r b c128 r b gm l10"},
    "wide": {"net": "c48 r c48 r p b c96 r b c96 r p b c192 r b gm l10"},
    "mean-pool": {"net": PLAIN.replace("gm", "ga")},
    "dropout": {"net": PLAIN.replace("gm", "gm d30")},
    "strong-aug": {"rotate": 15, "scale": 0.15, "shear": 0.2, "shift": 3.0},
    "weak-aug": {"rotate": 6, "scale": 0.07, "shear": 0.07, "shift": 1.5},
    "smooth": {"smooth": 0.1},
    "lr-low": {"lr": 0.05},
    "lr-high": {"lr": 0.4},
    "wd-high": {"wd": 2e-3},
    "wd-low": {"wd": 1e-4},
    "ema-long": {"ema": 0.999, "final": 0.1},
    "batch-1024": {"batch": 1024, "lr": 0.3},
    "long": {"epochs": 25},
}

LENET5 = dict(DEFAULT, net="k6 r p v16 r p f l120 r l84 r l10", epochs=5, batch=256, lr=0.1, ema=0.0, rotate=0,
              scale=0.0, shear=0.0, shift=0.0)
FAST = {
    "b256 e5": {},
    "b256 e5 w.4": {"warmup": 0.4},
    "b256 e4": {"epochs": 4},
    "b256 e4 lr.2": {"epochs": 4, "lr": 0.2},
    "b256 e4 lr.3": {"epochs": 4, "lr": 0.3},
    "b256 e3": {"epochs": 3},
    "b256 e3 lr.15": {"epochs": 3, "lr": 0.15},
    "b256 e3 lr.2": {"epochs": 3, "lr": 0.2},
    "b256 e3 lr.3": {"epochs": 3, "lr": 0.3},
    "b256 e3 lr.2 w.1": {"epochs": 3, "lr": 0.2, "warmup": 0.1},
    "b256 e3 lr.2 w.4": {"epochs": 3, "lr": 0.2, "warmup": 0.4},
    "b256 e3 lr.2 d2": {"epochs": 3, "lr": 0.2, "wd": 2e-3},
    "b256 e3 lr.2 d0": {"epochs": 3, "lr": 0.2, "wd": 0.0},
    "b256 e3 lr.2 m.8": {"epochs": 3, "lr": 0.4, "momentum": 0.8},
    "b256 e3 m.95": {"epochs": 3, "lr": 0.1, "momentum": 0.95},
    "b256 e3 lr.2 s": {"epochs": 3, "lr": 0.2, "smooth": 0.1},
    "b256 e3 lr.2 a": {"epochs": 3, "lr": 0.2, "ema": 0.98, "final": 0.1},
    "b256 e3 lr.2 x": {"epochs": 3, "lr": 0.2, "shift": 1.0},
    "b256 e2 lr.2": {"epochs": 2, "lr": 0.2},
    "b256 e2 lr.3": {"epochs": 2, "lr": 0.3},
    "b256 e2 lr.2 a": {"epochs": 2, "lr": 0.2, "ema": 0.98, "final": 0.1},
    "b128 e3": {"batch": 128, "epochs": 3},
    "b128 e2 lr.05": {"batch": 128, "epochs": 2, "lr": 0.05},
    "b128 e2": {"batch": 128, "epochs": 2},
    "b128 e2 lr.15": {"batch": 128, "epochs": 2, "lr": 0.15},
    "b128 e2 lr.2": {"batch": 128, "epochs": 2, "lr": 0.2},
    "b128 e2 w.1": {"batch": 128, "epochs": 2, "warmup": 0.1},
    "b128 e2 w.4": {"batch": 128, "epochs": 2, "warmup": 0.4},
    "b128 e2 d2": {"batch": 128, "epochs": 2, "wd": 2e-3},
    "b128 e2 m.95": {"batch": 128, "epochs": 2, "lr": 0.05, "momentum": 0.95},
    "b128 e2 s": {"batch": 128, "epochs": 2, "smooth": 0.1},
    "b128 e1": {"batch": 128, "epochs": 1},
    "b64 e1": {"batch": 64, "epochs": 1, "lr": 0.07},
    "b512 e5 lr.3": {"batch": 512, "epochs": 5, "lr": 0.3},
    "b512 e4 lr.3": {"batch": 512, "epochs": 4, "lr": 0.3},
}
# Candidates, what they start from, how many are trained at the same time.
SETS = {"accurate": (ACCURATE, DEFAULT, 1), "fast": (FAST, LENET5, 8)}


def read_idx(folder, name):
    found = sorted(pathlib.Path(folder).glob(name + "*"))
    raw = found[0].read_bytes()
    raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    array = torch.frombuffer(bytearray(raw), dtype=torch.uint8)
    return array[16:].reshape(-1, 1, 28, 28) if raw[3] == 3 else array[8:]


class GlobalMax(nn.Module):
    def forward(self, x):
        return x.amax((2, 3))


class GlobalMean(nn.Module):
    def forward(self, x):
        return x.mean((2, 3))


def make_net(text, bn_momentum, side=28):
    layers, channels, features = [], 1, 0
    words = text.split()
    for at, word in enumerate(words):
        kind, digits = word.rstrip("0123456789"), word.lstrip("abcdefghijklmnopqrstuvwxyz")
        number = int(digits) if digits else 0
        if kind in ("c", "k", "v"):
            kernel, pad = {"c": (3, 1), "k": (5, 2), "v": (5, 0)}[kind]
            layers.append(nn.Conv2d(channels, number, kernel, padding=pad, bias=words[at + 1] != "b"))
            channels, side = number, side + 2 * pad - kernel + 1
        elif kind == "r":
            layers.append(nn.ReLU(inplace=False))
        elif kind == "p":
            layers.append(nn.MaxPool2d(2))
            side //= 2
        elif kind == "b":
            layers.append(nn.BatchNorm2d(channels, momentum=bn_momentum))
        elif kind == "gm":
            layers.append(GlobalMax())
            features = channels
        elif kind == "ga":
            layers.append(GlobalMean())
            features = channels
        elif kind == "f":
            layers.append(nn.Flatten())
            features = channels * side * side
        elif kind == "d":
            layers.append(nn.Dropout(number / 100))
        elif kind == "l":
            layers.append(nn.Linear(features, number))
            features = number
        else:
            raise ValueError(word)
    return nn.Sequential(*layers)


def macs(net):
    total = 0

    def count(module, inputs, output):
        nonlocal total
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            total += output[0].numel() * module.weight[0].numel()

    hooks = [module.register_forward_hook(count) for module in net]
    net.eval()(torch.zeros(1, 1, 28, 28))
    for hook in hooks:
        hook.remove()
    return total


class Data:
    def __init__(self, folder, device, held_out):
        images = read_idx(folder, "train-images").to(device).float() / 255
        labels = read_idx(folder, "train-labels").to(device).long()
        count = len(images) - held_out
        self.train, self.validation = (images[:count], labels[:count]), (images[count:], labels[count:])
        self.test = (read_idx(folder, "t10k-images").to(device).float() / 255,
                     read_idx(folder, "t10k-labels").to(device).long())


class Trainer:
    """One candidate: its step is captured once and replayed for every seed."""

    def __init__(self, config, data, device, autocast):
        self.c, self.data, self.device, self.autocast = config, data, device, autocast
        self.net = make_net(config["net"], config["bn_momentum"])
        self.macs = macs(self.net)
        self.net = self.net.to(device).train()
        if device == "cuda":
            self.net = self.net.to(memory_format=torch.channels_last)
        self.parameters = list(self.net.parameters())
        self.state = self.parameters + [b for b in self.net.buffers() if b.is_floating_point()]
        self.velocity = [torch.zeros_like(p) for p in self.parameters]
        self.average = [torch.zeros_like(p) for p in self.state]
        batch = config["batch"]
        self.steps_per_epoch = len(data.train[0]) // batch
        self.steps = self.steps_per_epoch * config["epochs"]
        self.table = torch.tensor([self.rate(step) for step in range(self.steps)], device=device)
        self.decays = torch.tensor([min(config["ema"], (1 + s) / (10 + s)) for s in range(self.steps)], device=device)
        self.order = torch.zeros(config["epochs"], len(data.train[0]), dtype=torch.long, device=device)
        self.rows = torch.arange(batch, device=device)
        self.at = torch.zeros((), dtype=torch.long, device=device)
        self.stream = torch.cuda.Stream() if device == "cuda" else None
        self.replay = self.capture() if device == "cuda" else self.step

    def rate(self, step):
        c, warmup = self.c, round(self.c["warmup"] * self.steps)
        if step < warmup:
            return c["lr"] * (1 / 25 + 24 / 25 * step / warmup)
        t = (step - warmup) / max(1, self.steps - 1 - warmup)
        low = c["lr"] * max(c["final"], 1 / 2500)
        return low + (c["lr"] - low) * 0.5 * (1 + math.cos(math.pi * t))

    def augmented(self, x):
        c, n = self.c, len(x)
        u = torch.rand(n, 5, device=self.device) * 2 - 1
        angle = u[:, 0] * math.radians(c["rotate"])
        inverse = torch.exp(-u[:, 1] * c["scale"])
        shear, sx, sy = u[:, 2] * c["shear"], u[:, 3] * c["shift"] / 13.5, u[:, 4] * c["shift"] / 13.5
        cosine, sine = torch.cos(angle) * inverse, torch.sin(angle) * inverse
        xj, xi, yj, yi = cosine, cosine * shear - sine, sine, sine * shear + cosine
        theta = torch.stack([xj, xi, -(xj * sx + xi * sy), yj, yi, -(yj * sx + yi * sy)], 1).view(n, 2, 3)
        grid = functional.affine_grid(theta, list(x.shape), align_corners=True)
        return functional.grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=True)

    def step(self):
        c = self.c
        with torch.no_grad():
            first = self.at // self.steps_per_epoch * self.order.shape[1] + self.at % self.steps_per_epoch * c["batch"]
            chosen = self.order.view(-1).index_select(0, first + self.rows)
            x, labels = self.data.train[0].index_select(0, chosen), self.data.train[1].index_select(0, chosen)
            if c["rotate"] or c["scale"] or c["shear"] or c["shift"]:
                x = self.augmented(x)
            x = (x - MEAN) / STDDEV
            if self.device == "cuda":
                x = x.contiguous(memory_format=torch.channels_last)
        with torch.autocast(self.device, dtype=torch.bfloat16, enabled=self.autocast):
            logits = self.net(x)
        loss = functional.cross_entropy(logits.float(), labels, label_smoothing=c["smooth"])
        gradients = torch.autograd.grad(loss, self.parameters)
        with torch.no_grad():
            lr = self.table.gather(0, self.at.view(1))[0]
            g = torch._foreach_add(list(gradients), self.parameters, alpha=c["wd"])
            torch._foreach_mul_(self.velocity, c["momentum"])
            torch._foreach_add_(self.velocity, g)
            torch._foreach_add_(g, self.velocity, alpha=c["momentum"])
            torch._foreach_mul_(g, lr)
            torch._foreach_sub_(self.parameters, g)
            if c["ema"]:
                difference = torch._foreach_sub(self.state, self.average)
                torch._foreach_mul_(difference, 1 - self.decays.gather(0, self.at.view(1))[0])
                torch._foreach_add_(self.average, difference)
            self.at += 1

    def capture(self):
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(self.stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream):
            self.step()
        return graph.replay

    @torch.no_grad()
    def accuracy(self, images, labels):
        self.net.eval()
        right = 0
        for x, y in zip(images.split(2000), labels.split(2000)):
            with torch.autocast(self.device, dtype=torch.bfloat16, enabled=self.autocast):
                right += (self.net((x - MEAN) / STDDEV).argmax(1) == y).sum().item()
        self.net.train()
        return right / len(labels)

    def restart(self, seed):
        torch.manual_seed(seed)
        with torch.no_grad():
            for layer in self.net:
                if hasattr(layer, "reset_parameters"):
                    layer.reset_parameters()
            for v in self.velocity:
                v.zero_()
            for a, s in zip(self.average, self.state):
                a.copy_(s)
            for epoch in self.order:
                epoch.copy_(torch.randperm(len(epoch), device=self.device))
            self.at.zero_()

    def finish(self, seconds):
        result = {"seconds": seconds, "raw_test": self.accuracy(*self.data.test)}
        if self.c["ema"]:
            with torch.no_grad():
                for a, s in zip(self.average, self.state):
                    s.copy_(a)
        result["validation"] = self.accuracy(*self.data.validation) if len(self.data.validation[1]) else 0.0
        result["test"] = self.accuracy(*self.data.test)
        return result


def synchronize(device):
    if device == "cuda":
        torch.cuda.synchronize()


def train_together(trainers, seed, device):
    for trainer in trainers:
        trainer.restart(seed)
    synchronize(device)
    begin = time.perf_counter()
    for step in range(max(trainer.steps for trainer in trainers)):
        for trainer in trainers:
            if step >= trainer.steps:
                continue
            if trainer.stream is None:
                trainer.step()
            else:
                with torch.cuda.stream(trainer.stream):
                    trainer.replay()
    synchronize(device)
    seconds = time.perf_counter() - begin
    return [trainer.finish(seconds) for trainer in trainers]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("candidates", choices=SETS)
    parser.add_argument("--data", default="data/mnist")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=100)
    parser.add_argument("--only", default="")
    parser.add_argument("--held-out", type=int, default=10000, help="0: train on all, compare by nothing")
    parser.add_argument("--precision", choices=["bf16", "tf32", "fp32"], default="bf16")
    parser.add_argument("--rounds", type=int, default=8, help="seeds at most")
    parser.add_argument("--keep", type=float, default=0.7, help="share of the candidates that go on to the next seed")
    parser.add_argument("--set", default="", help="key=value,... for all candidates")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = options.precision == "tf32"
    torch.backends.cudnn.benchmark = True
    candidates, start, together = SETS[options.candidates]
    overrides = {}
    for item in filter(None, options.set.split(",")):
        key, value = item.split("=")
        overrides[key] = type(start[key])(float(value)) if key != "net" else value
    begin = time.perf_counter()
    data = Data(options.data, options.device, options.held_out)
    names = options.only.split(",") if options.only else list(candidates)
    trainers, results = {}, {name: [] for name in names}
    alive = list(names)
    for seed in range(1, options.rounds + 1):
        # Runs of one length go together.
        alive.sort(key=lambda n: (lambda c: c["epochs"] / c["batch"])({**start, **candidates[n], **overrides}))
        for first in range(0, len(alive), together):
            group = alive[first:first + together]
            if time.perf_counter() - begin > options.seconds:
                break
            for name in group:
                if name not in trainers:
                    config = {**start, **candidates[name], **overrides}
                    trainers[name] = Trainer(config, data, options.device, options.precision == "bf16")
            done = train_together([trainers[name] for name in group], seed, options.device)
            for name, result in zip(group, done):
                results[name].append(result)
                print(f"{name:16} seed {seed}: validation {100 * result['validation']:.2f} test "
                      f"{100 * result['test']:.2f} (last weights {100 * result['raw_test']:.2f}), "
                      f"{result['seconds']:.2f} s for {len(group)}, {trainers[name].macs / 1e6:.1f} MMAC", flush=True)
            if options.json:
                options.json.write_text(json.dumps(results, indent=1))
        if options.keep < 1:
            alive.sort(key=lambda n: -statistics.mean(r["validation"] for r in results[n]) if results[n] else 0)
            alive = alive[:max(4, math.ceil(len(alive) * options.keep))]
    print("\ncandidate        seeds validation     test  last weights  seconds    MMAC")
    for name in sorted((n for n in names if results[n]),
                       key=lambda n: -statistics.mean(r["validation" if options.held_out else "test"] for r in results[n])):
        mean = {key: statistics.mean(r[key] for r in results[name]) for key in results[name][0]}
        print(f"{name:16} {len(results[name]):5} {100 * mean['validation']:10.3f} {100 * mean['test']:8.3f} "
              f"{100 * mean['raw_test']:10.3f} {mean['seconds']:10.2f} {trainers[name].macs / 1e6:8.1f}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports 40 networks with each of PyTorch's ONNX exporters, and compares what `weft import` makes of them with PyTorch.

    python3 tests/outside/torch_networks.py WEFT FOLDER [--results FILE.csv] [--only EXPORTER,...]

Exporters: `default` is torch.onnx.export(model, x, "m.onnx"); script-N and dynamo-N have dynamo off and on, at operator set
N. A network is equal when the largest difference on four random pictures is at most %(tolerance).0e of the largest logit. FOLDER
keeps the files, and what is there already is not exported again. Needs Python with torch, onnxscript and numpy. The
exit code is 1 when a network is unequal, or an exporter has fewer than %(least)d that are equal.
"""
import argparse
import contextlib
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

TOLERANCE, LEAST = 1e-4, 36
OPSETS = (11, 14, 17, 18, 20, 21)
EXPORTERS = {"default": {}} | {f"script-{opset}": {"dynamo": False, "opset_version": opset} for opset in OPSETS} \
    | {f"dynamo-{opset}": {"dynamo": True, "opset_version": opset} for opset in OPSETS}
__doc__ %= {"tolerance": TOLERANCE, "least": LEAST}


def stem():
    return nn.Conv2d(1, 8, 3, stride=2, padding=1)


def ends(*layers):
    return nn.Sequential(stem(), *layers, nn.Flatten(), nn.LazyLinear(10))


def norm_conv(inputs, outputs, size, act, **options):
    return [nn.Conv2d(inputs, outputs, size, bias=False, **options), nn.BatchNorm2d(outputs), act()]


def separable(inputs, outputs, act):
    return [*norm_conv(inputs, inputs, 3, act, padding=1, groups=inputs), *norm_conv(inputs, outputs, 1, act)]


def vgg_part(inputs, outputs):
    return [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True), nn.MaxPool2d(2, 2)]


class Added(nn.Module):
    """What two ways make of their input, added."""

    def __init__(self, one, other, act):
        super().__init__()
        self.one, self.other, self.act = nn.Sequential(*one), nn.Sequential(*other), act()

    def forward(self, x):
        return self.act(self.one(x) + self.other(x))


def resnet_part(inputs, outputs, stride):
    main = [*norm_conv(inputs, outputs, 3, nn.ReLU, stride=stride, padding=1),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)]
    short = [nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)]
    return Added(main, [] if stride == 1 and inputs == outputs else short, nn.ReLU)


def inverted(inputs, outputs, stride):
    wide = 4 * inputs
    main = [*norm_conv(inputs, wide, 1, nn.ReLU6), *norm_conv(wide, wide, 3, nn.ReLU6, stride=stride, padding=1, groups=wide),
            nn.Conv2d(wide, outputs, 1, bias=False), nn.BatchNorm2d(outputs)]
    return Added(main, [], nn.Identity) if stride == 1 and inputs == outputs else nn.Sequential(*main)


class Examples(nn.Module):
    """The network of pytorch/examples/mnist."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 32, 3, 1), nn.Conv2d(32, 64, 3, 1)
        self.dropout1, self.dropout2 = nn.Dropout(0.25), nn.Dropout(0.5)
        self.fc1, self.fc2 = nn.Linear(9216, 128), nn.Linear(128, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv2(F.relu(self.conv1(x)))), 2)
        x = F.relu(self.fc1(torch.flatten(self.dropout1(x), 1)))
        return F.log_softmax(self.fc2(self.dropout2(x)), dim=1)


class View(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2 = nn.Linear(256, 120), nn.Linear(120, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv2(F.max_pool2d(F.relu(self.conv1(x)), 2))), 2)
        return self.fc2(F.relu(self.fc1(x.view(x.size(0), -1))))


class Concat(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.other, self.fc = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(1, 4, 1), nn.Linear(12 * 784, 10)

    def forward(self, x):
        return self.fc(torch.cat([self.one(x), self.other(x)], 1).relu().flatten(1))


def networks():
    for name, act in {"leaky_relu": nn.LeakyReLU(0.1), "elu": nn.ELU(), "silu": nn.SiLU(), "gelu": nn.GELU(),
                      "gelu_tanh": nn.GELU("tanh"), "hard_swish": nn.Hardswish(), "hard_sigmoid": nn.Hardsigmoid(),
                      "relu6": nn.ReLU6(), "hard_tanh": nn.Hardtanh(), "prelu": nn.PReLU(8), "prelu_shared": nn.PReLU(),
                      "max_pool_ceil": nn.MaxPool2d(3, 2, ceil_mode=True),
                      "avg_pool_exclude_pad": nn.AvgPool2d(3, 2, padding=1, count_include_pad=False),
                      "avg_pool_ceil": nn.AvgPool2d(3, 2, padding=1, ceil_mode=True),
                      "avg_pool_ceil_exclude_pad": nn.AvgPool2d(3, 2, padding=1, ceil_mode=True, count_include_pad=False),
                      "global_max_pool": nn.AdaptiveMaxPool2d(1), "layer_norm": nn.LayerNorm([8, 14, 14]),
                      "group_norm": nn.GroupNorm(4, 8), "group_norm_1": nn.GroupNorm(1, 8),
                      "instance_norm": nn.InstanceNorm2d(8, affine=True), "instance_norm_plain": nn.InstanceNorm2d(8)}.items():
        yield name, ends(act, nn.Conv2d(8, 8, 3), nn.ReLU()) if "norm" in name else ends(act)
    yield "dilation", ends(nn.Conv2d(8, 8, 3, dilation=2, padding=2), nn.ReLU())
    yield "groups", ends(nn.Conv2d(8, 16, 3, groups=4), nn.ReLU())
    yield "padding_same", nn.Sequential(nn.Conv2d(1, 8, 4, padding="same"), nn.ReLU(), nn.MaxPool2d(4), nn.Flatten(),
                                        nn.LazyLinear(10))
    yield "zero_pad", nn.Sequential(nn.ZeroPad2d((1, 2, 1, 2)), nn.Conv2d(1, 8, 4), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10))
    yield "reflect_pad", nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10))
    for name, norm, act in (("batch_norm_1d", nn.BatchNorm1d(32), nn.ReLU()), ("layer_norm_rows", nn.LayerNorm(32), nn.GELU()),
                            ("layer_norm_plain", nn.LayerNorm(32, elementwise_affine=False), nn.Tanh())):
        yield name, nn.Sequential(nn.Flatten(), nn.Linear(784, 32), norm, act, nn.Linear(32, 10))
    yield "mobilenet", ends(*separable(8, 16, nn.ReLU6), nn.MaxPool2d(2), *separable(16, 24, nn.ReLU6), nn.AdaptiveAvgPool2d(1))
    yield "mobilenet_hard_swish", ends(*separable(8, 16, nn.Hardswish), nn.AdaptiveAvgPool2d(1))
    yield "mobilenet_v2", ends(inverted(8, 8, 1), inverted(8, 16, 2), inverted(16, 16, 1), nn.AdaptiveAvgPool2d(1))
    yield "residual", ends(Added([nn.Conv2d(8, 8, 3, padding=1)], [], nn.SiLU))
    yield "resnet", ends(resnet_part(8, 8, 1), resnet_part(8, 16, 2), resnet_part(16, 16, 1), nn.AdaptiveAvgPool2d(1))
    yield "vgg", nn.Sequential(*vgg_part(1, 8), *vgg_part(8, 16), nn.AdaptiveAvgPool2d((7, 7)), nn.Flatten(),
                               nn.Linear(784, 64), nn.ReLU(True), nn.Dropout(), nn.Linear(64, 10))
    yield "lenet_tanh", nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(),
                                      nn.AvgPool2d(2), nn.Flatten(), nn.Linear(400, 84), nn.Tanh(), nn.Linear(84, 10))
    yield "lenet_view", View()
    yield "pytorch_examples", Examples()
    yield "mlp_softmax", nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.Sigmoid(), nn.Linear(64, 10), nn.Softmax(1))
    yield "concat", Concat()


def draw(module):
    """Numbers and statistics that are not those of a new module."""
    module(torch.zeros(2, 1, 28, 28))
    with torch.no_grad():
        for part in module.modules():
            for number in part.parameters(recurse=False):
                number.mul_(1.5)
            if isinstance(part, (nn.GroupNorm, nn.LayerNorm, nn.InstanceNorm2d)) and part.weight is not None:
                part.weight.uniform_(0.5, 1.5)
                part.bias.uniform_(-0.5, 0.5)
        module.train()(torch.rand(16, 1, 28, 28))
    return module.eval()


def export(module, path, options):
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        torch.onnx.export(module, (torch.zeros(1, 1, 28, 28),), str(path), **options)


def outcome(weft, path, files, expected, folder):
    model = folder / f"{path.stem}.safetensors"
    done = subprocess.run([weft, "import", str(path), "--range", "0..1", "--out", str(model)], capture_output=True, text=True)
    if done.returncode != 0:
        return "refused"
    said = subprocess.run([weft, "predict", str(model), *files, "--preprocess", "none", "--invert", "no", "--json"],
                          capture_output=True, text=True, check=True)
    logits = torch.tensor([json.loads(line)["logits"] for line in said.stdout.splitlines()])
    if torch.allclose(expected.exp().sum(1), torch.ones(len(expected))):
        logits = torch.log_softmax(logits, 1)
    elif torch.allclose(expected.sum(1), torch.ones(len(expected))):
        logits = torch.softmax(logits, 1)
    return "equal" if (logits - expected).abs().max() <= TOLERANCE * expected.abs().max() else "unequal"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--only", default=",".join(EXPORTERS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.manual_seed(1)
    options.folder.mkdir(exist_ok=True, parents=True)
    chosen, rows = options.only.split(","), []
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        pixels = np.random.default_rng(3).integers(0, 256, (4, 1, 28, 28), dtype=np.uint8)
        files = [str(folder / f"{i}.pgm") for i in range(len(pixels))]
        for file, image in zip(files, pixels):
            pathlib.Path(file).write_bytes(b"P5\n28 28\n255\n" + image.tobytes())
        for name, module in networks():
            draw(module)
            with torch.no_grad():
                expected = module(torch.from_numpy(pixels / np.float32(255)))
            row = {"network": name}
            for exporter in chosen:
                path = options.folder / f"{name}-{exporter}.onnx"
                if not path.exists():
                    export(module, path, EXPORTERS[exporter])
                row[exporter] = outcome(options.weft, path, files, expected, folder)
            rows.append(row)
            print(name, {row[exporter] for exporter in chosen}, flush=True)
    counts = {exporter: [row[exporter] for row in rows].count("equal") for exporter in chosen}
    print(f"equal of {len(rows)}:", counts)
    if options.results:
        with options.results.open("w", newline="") as file:
            writer = csv.DictWriter(file, ["network", *chosen], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    unequal = any(row[exporter] == "unequal" for row in rows for exporter in chosen)
    return 1 if unequal or min(counts.values()) < LEAST else 0


if __name__ == "__main__":
    sys.exit(main())

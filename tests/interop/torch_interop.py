#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Weft and PyTorch read each other's model files, and AdamW takes the same steps in both. Needs Python with torch, numpy and safetensors.

    python3 tests/interop/torch_interop.py --weft build/cpu/weft [--data-dir DIR] [MODEL.safetensors...]

For mlp, lenet5 and convnet:
  weft -> PyTorch   a model that weft trained (or each MODEL given) is loaded by
                    safetensors.torch.load_file into the same module, strictly; logits on test images
                    must agree with `weft predict --json` to 1e-4
  PyTorch -> weft   a module trained briefly in PyTorch is saved by safetensors.torch.save_file;
                    `weft eval --json` must name the network and find PyTorch's own accuracy
For an mlp on one batch, without clipping and with it:
  AdamW             weft's weights and moments after 1, 2, 10 and 100 steps, by a run that is resumed
                    each time, must be as near to PyTorch's in double as PyTorch's own in float are:
                    at most %(times)d times their distance, and %(least).0e of the way for roundings
The MNIST test set is read from --data-dir or $WEFT_DATA_DIR. Exit code 0: all agree, 1: not.
"""
import argparse
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch.nn.functional import cross_entropy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/pytorch"))
from networks import NETWORKS  # noqa: E402

MEAN, STDDEV = 0.1307, 0.3081
TOLERANCE = 1e-4
LOGIT_IMAGES = 32
ADAMW_STEPS, ADAMW_BATCH = (1, 2, 10, 100), 256
ADAMW_TIMES, ADAMW_LEAST = 4, 5e-5
__doc__ %= {"times": ADAMW_TIMES, "least": ADAMW_LEAST}


def read_idx(folder, kind, what):
    rank = 3 if what == "images" else 1
    for name in (f"{kind}-{what}-idx{rank}-ubyte", f"{kind}-{what}.idx{rank}-ubyte"):
        for path in (folder / name, folder / (name + ".gz")):
            if path.exists():
                data = path.read_bytes()
                data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
                shape = np.frombuffer(data, ">i4", rank, 4)
                return torch.from_numpy(np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape).copy())
    sys.exit(f"no {kind} {what} in {folder}: give --data-dir or WEFT_DATA_DIR")


def normalised(images, mean=MEAN, stddev=STDDEV):
    return (images.float().unsqueeze(1) / 255 - mean) / stddev


def weft(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"weft {' '.join(map(str, arguments[:6]))}: exit {done.returncode}: {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def write_pgm(path, image):
    height, width = image.shape
    path.write_bytes(b"P5\n%d %d\n255\n" % (width, height) + image.numpy().tobytes())


def module_of(path):
    """The PyTorch module of a weft model, and the normalisation that its metadata states."""
    with safe_open(path, framework="pt") as file:
        info = json.loads(file.metadata()["weft"])
    module = NETWORKS[info["network"]]()
    module.load_state_dict(load_file(path), strict=True)
    return module.eval(), info


def check_weft_to_torch(program, path, images, folder):
    module, info = module_of(path)
    files = []
    for index in range(LOGIT_IMAGES):
        files.append(folder / f"{index}.pgm")
        write_pgm(files[-1], images[index])
    lines = weft(program, "predict", path, *files, "--preprocess", "none", "--invert", "no", "--json",
                 "--device", "cpu")
    found = torch.tensor([line["logits"] for line in lines if line["event"] == "predict"])
    with torch.no_grad():
        expected = module(normalised(images[:LOGIT_IMAGES], info["mean"], info["stddev"]))
    error = (found - expected).abs().max().item() if found.shape == expected.shape else float("nan")
    ok = error <= TOLERANCE
    print(f"{'ok' if ok else 'FAILED'}  weft -> PyTorch  {info['network']:8} largest logit error {error:.2e}"
          f" of {expected.abs().max().item():.1f}, limit {TOLERANCE:.0e}")
    return ok


def train_in_torch(name, images, labels, steps=150, batch=64):
    torch.manual_seed(1)
    module = NETWORKS[name]().train()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    for _ in range(steps):
        chosen = torch.randint(0, len(images), (batch,))
        optimizer.zero_grad()
        cross_entropy(module(normalised(images[chosen])), labels[chosen].long()).backward()
        optimizer.step()
    return module.eval()


def check_torch_to_weft(program, name, train_set, test_set, folder, data_dir):
    module = train_in_torch(name, *train_set)
    path = folder / f"torch-{name}.safetensors"
    save_file(module.state_dict(), path)
    images, labels = test_set
    with torch.no_grad():
        hits = sum((module(normalised(images[i:i + 500])).argmax(1) == labels[i:i + 500]).sum().item()
                   for i in range(0, len(images), 500))
    result = weft(program, "eval", path, "--dataset", "mnist", "--data-dir", data_dir, "--json")[-1]
    # Two sums in different order may disagree about an image whose best two logits tie.
    ok = result["images"] == len(images) and abs(result["accuracy"] * len(images) - hits) <= 1.5
    print(f"{'ok' if ok else 'FAILED'}  PyTorch -> weft  {name:8} accuracy {result['accuracy']:.4f},"
          f" PyTorch {hits / len(images):.4f}")
    return ok


def adamw_in_torch(start, images, labels, dtype, clip_norm):
    """{step: tensors named as in weft's checkpoint}, after each of ADAMW_STEPS."""
    module = NETWORKS["mlp"]().to(dtype).train()
    module.load_state_dict({name: value.to(dtype) for name, value in start.items()})
    optimizer = torch.optim.AdamW(module.parameters())  # PyTorch's defaults
    x, found = normalised(images).to(dtype), {}
    for step in range(1, ADAMW_STEPS[-1] + 1):
        optimizer.zero_grad()
        cross_entropy(module(x), labels.long()).backward()
        if clip_norm > 0:
            torch.nn.utils.clip_grad_norm_(module.parameters(), clip_norm)
        optimizer.step()
        if step in ADAMW_STEPS:
            found[step] = {}
            for name, parameter in module.named_parameters():
                found[step]["parameter." + name] = parameter.detach().double().clone()
                for state in ("exp_avg", "exp_avg_sq"):
                    found[step][f"{state}.{name}"] = optimizer.state[parameter][state].double().clone()
    return found


def distance(a, b, state, zero=None):
    """|a - b| / |b - zero| over all tensors of a state."""
    names = [name for name in b if name.startswith(state + ".")]
    apart = sum(((a[name].double() - b[name]) ** 2).sum() for name in names)
    way = sum(((b[name] - (zero[name].double() if zero else 0)) ** 2).sum() for name in names)
    return (apart / way).sqrt().item()


def check_adamw(program, clip_norm, train_set, folder, data_dir):
    images, labels = (part[:ADAMW_BATCH] for part in train_set)
    run = folder / f"adamw-{clip_norm}"
    common = ("train", "--model", "mlp", "--dataset", "mnist", "--data-dir", data_dir, "--limit-train",
              ADAMW_BATCH, "--batch-size", ADAMW_BATCH, "--calibration-split", 0, "--lr-schedule", "constant",
              "--progress", "off", "--json")
    # A step of 1e-9 is less than a rounding of nearly all weights: these are the ones to start from.
    weft(program, *common, "--epochs", 1, "--lr", 1e-9, "--weight-decay", 0, "--optimizer", "adamw",
         "--out", folder / f"start-{clip_norm}")
    start = load_file(folder / f"start-{clip_norm}" / "model.safetensors")
    zero = {"parameter." + name: value for name, value in start.items()}
    exact, single = (adamw_in_torch(start, images, labels, dtype, clip_norm)
                     for dtype in (torch.float64, torch.float32))
    all_ok = True
    for step in ADAMW_STEPS:
        if step == ADAMW_STEPS[0]:
            weft(program, *common, "--optimizer", "adamw", "--clip-norm", clip_norm, "--epochs", ADAMW_STEPS[-1],
                 "--stop-after", step, "--out", run)
        else:
            weft(program, "train", "--resume", run, "--data-dir", data_dir, "--stop-after", step,
                 "--progress", "off", "--json")
        found = load_file(run / "optimizer.safetensors")
        errors = []
        ok = set(found) == set(exact[step])
        for state in ("parameter", "exp_avg", "exp_avg_sq") if ok else ():
            of = zero if state == "parameter" else None
            error, peer = (distance(x, exact[step], state, of) for x in (found, single[step]))
            ok = ok and error <= ADAMW_TIMES * peer + ADAMW_LEAST
            errors.append(f"{state} {error:.1e} (PyTorch in float {peer:.1e})")
        print(f"{'ok' if ok else 'FAILED'}  AdamW  clip {clip_norm:g}, step {step:3}: {', '.join(errors)}")
        all_ok = all_ok and ok
    return all_ok


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", required=True, help="the program")
    parser.add_argument("--data-dir", type=pathlib.Path, default=os.environ.get("WEFT_DATA_DIR", "data/mnist"))
    parser.add_argument("models", nargs="*", type=pathlib.Path, help="weft models; none: train them here")
    options = parser.parse_args()
    data_dir = pathlib.Path(options.data_dir)
    train_set = read_idx(data_dir, "train", "images"), read_idx(data_dir, "train", "labels")
    test_set = read_idx(data_dir, "t10k", "images"), read_idx(data_dir, "t10k", "labels")
    verdicts = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        models = options.models
        if not models:
            for name in NETWORKS:
                weft(options.weft, "train", "--model", name, "--dataset", "mnist", "--data-dir", data_dir,
                     "--epochs", 1, "--limit-train", 6400, "--out", folder / name, "--progress", "off", "--json")
                models.append(folder / name / "model.safetensors")
        for path in models:
            verdicts.append(check_weft_to_torch(options.weft, path, test_set[0], folder))
        for clip_norm in (0, 0.5):
            verdicts.append(check_adamw(options.weft, clip_norm, train_set, folder, data_dir))
        for name in NETWORKS:
            verdicts.append(check_torch_to_weft(options.weft, name, train_set, test_set, folder, data_dir))
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())

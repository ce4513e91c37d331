#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Weft's ONNX files in OpenVINO and in ncnn (by pnnx). Needs Python with numpy, and openvino or ncnn and pnnx, each where it is there.

    python3 tests/interop/engines.py --weft build/cpu/weft --random-model build/cpu/tests/random_model [--record]

For every built-in network and each .net file of this folder, with random numbers: the logits of the exported file beside those
of `weft predict`, of one picture after another. --record writes engines_results.csv, from which docs/onnx.md has its numbers.
Exit code 0: each is equal to %(limit).0e of the largest, but for those that KNOWN names; 1: not; 77: nothing is there to compare with.
"""
import argparse
import csv
import importlib.metadata
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

from models import BUILT_IN, FILES, ROOT, by_channel, logits_of, read_safetensors, run, write_pictures

RESULTS = ROOT / "tests" / "interop" / "engines_results.csv"
LIMIT, PICTURES = 1e-5, 4
# What is known to compute another number than onnxruntime and PyTorch.
BEYOND_THE_EDGE = "divides a mean of avg_pool with ceil by another number where its window hangs over the edge"
KNOWN = {
    ("pools", "openvino"): BEYOND_THE_EDGE,
    ("pools", "ncnn"): BEYOND_THE_EDGE,
    ("norms", "ncnn"): "pnnx takes a slope for each value and a layer normalisation of images for other operators",
    ("dense", "ncnn"): "pnnx does not translate avg_pool with padding of one side that does not count",
}
__doc__ %= {"limit": LIMIT}


def openvino_logits(path, images):
    import openvino
    model = openvino.Core().compile_model(str(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return np.concatenate([model([image[None]])[0] for image in images])


def ncnn_logits(path, images):
    import ncnn
    converter = pathlib.Path(importlib.util.find_spec("pnnx").origin).parent / "pnnx"  # its own module wants PyTorch
    shape = ",".join(map(str, (1, *images.shape[1:])))
    done = subprocess.run([converter, path.name, f"inputshape=[{shape}]", "fp16=0"], cwd=path.parent, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"pnnx: exit {done.returncode}: {done.stderr[-150:]}")
    net = ncnn.Net()
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.use_bf16_storage = net.opt.use_vulkan_compute = False
    for load, kind in (net.load_param, "param"), (net.load_model, "bin"):
        if load(str(path.with_suffix(f".ncnn.{kind}"))) != 0:
            raise RuntimeError(f"ncnn does not read its {kind} file")
    rows = []
    for image in images:
        extractor = net.create_extractor()
        extractor.input("in0", ncnn.Mat(image))
        status, out = extractor.extract("out0")
        if status != 0:
            raise RuntimeError(f"ncnn ends with {status}")
        rows.append(np.array(out).reshape(-1))
    return np.stack(rows)


ENGINES = {"openvino": openvino_logits, "ncnn": ncnn_logits}


NEEDS = {"openvino": ["openvino"], "ncnn": ["ncnn", "pnnx"]}


def version_of(name):
    """That of a program, and None where a package that it needs is missing."""
    try:
        return [importlib.metadata.version(package) for package in NEEDS[name]][0]
    except importlib.metadata.PackageNotFoundError:
        return None


def compared(weft, random_model, network, folder, engines):
    """A row for each program: the largest error of the largest logit, or what went wrong."""
    label = pathlib.Path(network).stem
    model, path = folder / f"{label}.safetensors", folder / f"{label.replace('-', '_')}.onnx"  # as pnnx names its files
    run(random_model, network, model)
    run(weft, "export", model, "--format", "onnx", "--out", path)
    files, pixels = write_pictures(folder)
    info = read_safetensors(model)[1]
    images = ((pixels / 255 - by_channel(info["mean"])) / by_channel(info["stddev"])).astype(np.float32)[:PICTURES]
    expected = logits_of(weft, model, files[:PICTURES])
    for engine in engines:
        try:
            found = ENGINES[engine](path, images)
            fits = found.shape == expected.shape and np.isfinite(found).all()
            error = np.abs(found - expected).max() / np.abs(expected).max() if fits else float("nan")
            yield {"network": label, "program": engine, "error": f"{error:.1e}"}
        except Exception as failure:  # of the program, which is what is recorded
            yield {"network": label, "program": engine, "error": " ".join(str(failure).split())[:200]}


def is_equal(row):
    try:
        return float(row["error"]) <= LIMIT
    except ValueError:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", required=True, type=pathlib.Path, help="the program")
    parser.add_argument("--random-model", required=True, type=pathlib.Path,
                        help="the test program that makes an untrained model")
    parser.add_argument("--record", action="store_true", help="write engines_results.csv")
    options = parser.parse_args()
    engines = {engine: version_of(engine) for engine in ENGINES if version_of(engine)}
    if not engines:
        print("skipped: neither openvino nor ncnn is there")
        sys.exit(77)
    rows, failed = [], 0
    with tempfile.TemporaryDirectory() as name:
        for network in [*BUILT_IN, *FILES]:
            for row in compared(options.weft.resolve(), options.random_model.resolve(), network, pathlib.Path(name), engines):
                rows.append(row | {"version": engines[row["program"]]})
                ok = is_equal(row)
                known = KNOWN.get((row["network"], row["program"]))
                failed += not ok and known is None
                print(f"{'ok' if ok else 'known' if known else 'FAILED':6}  {row['network']:14}  {row['program']:9}  {row['error']}")
    if options.record:
        with RESULTS.open("w", newline="") as file:
            table = csv.DictWriter(file, ["network", "program", "version", "error", "reason"], lineterminator="\n")
            table.writeheader()
            table.writerows(row | {"reason": KNOWN.get((row["network"], row["program"]), "")} for row in rows)
    print(f"{len(rows)} comparisons, {failed} of them differ for no known reason")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

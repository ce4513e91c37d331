#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures whole commands, from the start of a process to its end, beside what they cannot do without.

    bench/commands.py --weft build/cuda/weft --device cuda --out bench/results/commands-h100.json
    bench/commands.py --weft build/cpu/weft --device cpu --threads 2 --out bench/results/commands-cpu.json

Commands and yardsticks take turns, and medians are over all turns. On a GPU the yardstick is a process that
opens the device's context and ends, less the same process without it. On a CPU it is onnxruntime with the same
model, images and threads, where it can be imported: it is given normalised floats, and its best batch counts.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from machine import machine, write_result

NOTHING = "import ctypes"
CONTEXT = """
import ctypes
cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
if cuda.cuInit(0) != 0 or cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) != 0:
    raise SystemExit("the GPU cannot be opened")
"""
IMAGES = 10000  # of the test set


def checked(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def seconds_of(command):
    start = time.perf_counter()
    checked(command)
    return time.perf_counter() - start


def onnxruntime_calls(path, threads, what):
    """Name of a row -> a call that takes IMAGES images through the model; empty without onnxruntime."""
    try:
        import numpy
        import onnxruntime
    except ImportError as error:
        print(f"no yardstick: {error}", file=sys.stderr)
        return {}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name

    def call(batch):
        images = numpy.random.default_rng(1).random((batch, 1, 28, 28), dtype=numpy.float32)

        def run():
            for _ in range(IMAGES // batch):
                session.run(None, {name: images})
        return run
    return {f"onnxruntime{what}, {IMAGES} images, batch {batch}": call(batch) for batch in (100, 250, 500, 1000)}


def measure(options, folder):
    """Name of a row -> seconds of each turn."""
    weft, model = [options.weft], folder / "model"
    flags = ["--device", options.device] + (["--threads", str(options.threads)] if options.threads else [])
    checked([*weft, "train", "--recipe", "fast", *flags, "--out", model])
    calls = {}
    if options.device == "cpu":
        for what, more in ("", []), (" in int8", ["--precision", "int8"]):
            onnx = folder / f"model{len(calls)}.onnx"
            checked([*weft, "export", model, "--format", "onnx", *more, "--out", onnx])
            calls |= onnxruntime_calls(str(onnx), options.threads or os.cpu_count(), what)
    rows = {}

    def add(name, seconds):
        rows.setdefault(name, []).append(seconds)

    for turn in range(options.turns):
        if options.device == "cuda":
            nothing, context = ([sys.executable, "-S", "-c", text] for text in (NOTHING, CONTEXT))
            add("the GPU's context, opened and closed", seconds_of(context) - seconds_of(nothing))
            add("train --recipe fast", seconds_of([*weft, "train", "--recipe", "fast", "--seed", str(turn + 1), *flags,
                                                   "--out", folder / f"train{turn}"]))
        add("eval", seconds_of([*weft, "eval", model, *flags]))
        precisions = {"": []} | ({" in int8": ["--precision", "int8"]} if options.device == "cpu" else {})
        for what, more in precisions.items():
            evaluation = json.loads(checked([*weft, "eval", model, *flags, *more, "--json"]))
            add(f"eval{what}, {IMAGES} images alone", evaluation["seconds"])
        for name, run in calls.items():
            start = time.perf_counter()
            run()
            add(name, time.perf_counter() - start)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", required=True)
    parser.add_argument("--device", choices=["cpu", "cuda"], required=True)
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0 leaves the default")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--out", type=pathlib.Path, help="write every measurement as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(options, pathlib.Path(folder))
    for name, seconds in rows.items():
        print(f"{name:44} {1e3 * statistics.median(seconds):8.1f} ms  "
              f"({1e3 * min(seconds):.1f} to {1e3 * max(seconds):.1f})")
    if options.out is None:
        return
    result = {"benchmark": "commands", "device": options.device, "threads": options.threads, "machine": machine(),
              "rows": [{"name": name, "seconds": seconds} for name, seconds in rows.items()]}
    write_result(options.out, result)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""NumPy and Weft agree on arrays. Needs Python with numpy 2.

    python3 tests/interop/numpy_interop.py --weft build/cpu/weft

  scan        .npy files of every type, in C and Fortran order and both byte orders: `weft scan` gives
              what numpy.cumsum, cumprod, minimum.accumulate and maximum.accumulate give (integers
              and extremes exactly, float sums to rounding), and NumPy loads the file
  histogram   `weft histogram --json` gives the counts and the edges of numpy.histogram, exactly, also
              for values that lie on an edge or one rounding step beside it
Exit code 0: all agree, 1: not.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

TYPES = ["f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">f8", ">i2", ">u4"]
ACCUMULATED = {"sum": np.cumsum, "product": np.cumprod, "min": np.minimum.accumulate,
               "max": np.maximum.accumulate}


def random_array(rng, dtype, size, scale):
    values = rng.normal(size=size) * scale
    kind = np.dtype(dtype)
    if kind.kind == "u":
        values = np.abs(values)
    if kind.kind != "f":
        limits = np.iinfo(kind)
        values = np.clip(values, max(limits.min, -2.0**53), min(limits.max, 2.0**53))
    return values.astype(kind)


def scan_failures(weft, folder, rng):
    for dtype in [*TYPES, "f2"]:
        for op, accumulate in ACCUMULATED.items():
            array = random_array(rng, dtype, (37, 101), 1 if op == "product" else 50)
            if op == "product" and array.dtype.kind == "f":
                array = 1 + array / 1000
            array = np.asfortranarray(array) if rng.integers(2) else array
            np.save(folder / "x.npy", array)
            subprocess.run([weft, "scan", folder / "x.npy", "--op", op, "--device", "cpu",
                            "--out", folder / "y.npy"], check=True, stdout=subprocess.DEVNULL)
            found = np.load(folder / "y.npy")
            if dtype == "f2":
                array = array.astype("f4")
            expected = accumulate(array.reshape(-1))
            if found.dtype != expected.dtype.newbyteorder("="):
                yield f"scan --op {op} of {dtype}: {found.dtype}, NumPy {expected.dtype}"
            exact = array.dtype.kind != "f" or op in ("min", "max")
            right = (np.array_equal(found, expected) if exact
                     else np.allclose(found, expected, rtol=1e-4, atol=1e-3))
            if not right:
                yield f"scan --op {op} of {dtype}"


def histogram_arrays(rng):
    for dtype in TYPES:
        for scale in (1, 37, 1e6):
            yield random_array(rng, dtype, 20000, scale)
    for bins in (1, 3, 7, 10, 49, 70, 100, 256, 1000):
        for low, high, dtype in ((0, 1, "f4"), (-3.3, 7.1, "f8")):
            edges = np.linspace(low, high, bins + 1).astype(dtype)
            far = edges.dtype.type(100)
            yield np.concatenate([edges, np.nextafter(edges, -far), np.nextafter(edges, far)])
        yield np.arange(bins + 1)
    yield np.array([5.0], "f4")
    yield np.full(7, 3)
    yield np.array([1e-40, 3e-40, 0], "f4")
    yield np.array([1e-323, 3e-323, 0], "f8")


def histogram_failures(weft, folder, rng):
    for array in histogram_arrays(rng):
        np.save(folder / "x.npy", array)
        for bins, ends in ((10, None), (7, None), (70, None), (1000, None), (1, None),
                           (100, (-1, 1)), (10, (0, 1)), (49, (0.1, 0.7))):
            command = [weft, "histogram", folder / "x.npy", "--bins", str(bins), "--json",
                       "--device", "cpu"] + (["--range", f"{ends[0]},{ends[1]}"] if ends else [])
            done = subprocess.run(command, capture_output=True, text=True)
            what = f"histogram of {array.dtype}, {bins} bins, range {ends}"
            try:
                counts, edges = np.histogram(array, bins=bins, range=ends)
            except ValueError:  # too many bins for the range
                if done.returncode != 2:
                    yield what + ": NumPy refuses, weft does not"
                continue
            if done.returncode != 0:
                yield what + ": " + done.stderr.strip()
                continue
            event = json.loads(done.stdout)
            if not np.array_equal(counts, event["counts"]):
                yield what + ": other counts"
            if not np.array_equal(edges, np.array(event["edges"], edges.dtype)):
                yield what + ": other edges"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weft", required=True)
    weft = str(pathlib.Path(parser.parse_args().weft).resolve())
    rng = np.random.default_rng(7)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        failures = [*scan_failures(weft, folder, rng), *histogram_failures(weft, folder, rng)]
    for failure in failures:
        print("differs:", failure, file=sys.stderr)
    print("NumPy and Weft agree" if not failures else f"{len(failures)} differences")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

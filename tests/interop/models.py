# SPDX-License-Identifier: MIT
"""The networks that the scripts of this folder try, their tensors, and what `weft predict` says of them."""
import json
import pathlib
import subprocess

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT_IN = sorted(path.stem for path in (ROOT / "models" / "networks").glob("*.net"))
FILES = [ROOT / "examples" / "networks" / "tiny.net", *sorted((ROOT / "tests" / "interop").glob("*.net"))]
PICTURES = 16


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command[:4]))}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def read_safetensors(path):
    """The tensors of a file, {name: array}, and what it says of itself."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    info = json.loads(header.pop("__metadata__")["weft"])
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = np.frombuffer(data[8 + size:][begin:end], "<f4").reshape(entry["shape"])
    return tensors, info


def write_pictures(folder):
    """Grey pictures of 28 x 28 pixels: their files, and the pixels (PICTURES, 1, 28, 28)."""
    pixels = np.random.default_rng(3).integers(0, 256, (PICTURES, 1, 28, 28), dtype=np.uint8)
    files = [folder / f"{index}.pgm" for index in range(PICTURES)]
    for file, image in zip(files, pixels):
        file.write_bytes(b"P5\n28 28\n255\n" + image.tobytes())
    return files, pixels


def logits_of(weft, model, pictures):
    out = run(weft, "predict", model, *pictures, "--preprocess", "none", "--invert", "no", "--json")
    return np.array([json.loads(line)["logits"] for line in out.splitlines()])


def distance(found, expected):
    """The largest difference, absolute or of the largest expected number, whichever is larger."""
    if found.shape != expected.shape or not np.isfinite(expected).all():
        return float("nan")
    apart = np.abs(found - expected).max()
    return max(apart, apart / np.abs(expected).max())


def same_tensors(a, b):
    return a.keys() == b.keys() and all(
        a[name].shape == b[name].shape and a[name].tobytes() == b[name].tobytes() for name in a)


def by_channel(values):
    """Numbers of each channel, to be used with images (batch, channels, height, width)."""
    return np.reshape(np.float64(values), (-1, 1, 1))


def numbers_of_pixels(info):
    """The flags of `weft import` that say what a network reads of a pixel."""
    return [part for flag in ("mean", "stddev")
            for part in (f"--{flag}", ",".join(map(repr, np.atleast_1d(info[flag]).tolist())))]

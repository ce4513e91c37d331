#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Imports the ONNX classifiers of a list, and compares what they say of pictures with onnxruntime.

    python3 tests/outside/onnx_files.py WEFT FOLDER LIST.csv --results FILE.csv [--before FILE.csv] [--page README.md]

LIST.csv has the columns repository, file and picture classifier, of which the rows with `yes` are tried. FOLDER has each
repository as OWNER+NAME/repo, a Git repository. A file is equal when the largest difference on four random pictures is
at most %(tolerance).0e of the largest number that onnxruntime gives. --before compares with results of another time, and --page
puts the table into a page. Needs Python with onnx, onnxruntime and numpy. The exit code is 1 when a file is unequal,
or ends worse than before.
"""
import argparse
import collections
import csv
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path[:0] = [os.environ["ONNX_PYTHON"]] if "ONNX_PYTHON" in os.environ else []
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402

TOLERANCE = 1e-4
__doc__ %= {"tolerance": TOLERANCE}
PICTURES = 4
OUTCOMES = {"equal": "equal", "refused": "refused, by the name of what stands in the way", "not onnx": "is no ONNX file",
            "not run": "imported, but onnxruntime does not run it",
            "absent": "is no longer in its repository", "unequal": "unequal"}


def identity(row):
    return hashlib.sha256(f"{row['repository']}/{row['file']}".encode()).hexdigest()[:12]


def extract(repository, name, folder):
    """The file and the tensors beside it, as the newest commit that has them does."""
    git = ["git", "-C", str(repository)]
    commits = subprocess.run([*git, "log", "--all", "-1", "--format=%H", "--diff-filter=AM", "--", name],
                             capture_output=True, text=True).stdout.split()
    for commit in [*commits, "HEAD"]:
        show = subprocess.run([*git, "show", f"{commit}:{name}"], capture_output=True)
        if show.returncode != 0:
            continue
        path = folder / "m.onnx"
        path.write_bytes(show.stdout)
        try:
            model = onnx.load(path, load_external_data=False)
        except Exception:  # what protobuf throws has no common name
            return path, None
        for tensor in model.graph.initializer:
            for entry in tensor.external_data:
                beside = folder / entry.value
                if entry.key == "location" and not beside.exists() and beside.parent == folder:
                    data = subprocess.run([*git, "show", f"{commit}:{pathlib.Path(name).parent / entry.value}"],
                                          capture_output=True)
                    beside.write_bytes(data.stdout)
        return path, model
    return None, None


def pictures_of(folder, channels, height, width):
    pixels = np.random.default_rng(7).integers(0, 256, (PICTURES, channels, height, width), dtype=np.uint8)
    files = []
    for i, image in enumerate(pixels):
        files.append(folder / f"{i}.{'pgm' if channels == 1 else 'ppm'}")
        head = f"P{5 if channels == 1 else 6}\n{width} {height}\n255\n".encode()
        files[-1].write_bytes(head + image.transpose(1, 2, 0).tobytes())
    return pixels, [str(file) for file in files]


def session_of(path, model):
    for opset in model.opset_import:
        if opset.domain in ("", "ai.onnx") and opset.version == 6:  # which onnxruntime does not run
            opset.version = 7  # where these attributes mean what they say
            for node in model.graph.node:
                kept = [one for one in node.attribute if one.name not in ("broadcast", "is_test")]
                del node.attribute[:]
                node.attribute.extend(kept)
            path = path.with_name("seven.onnx")
            onnx.save(model, path)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options)


def answers(session, pixels):
    """What each output says of each picture, or None for an output of another kind."""
    info = session.get_inputs()[0]
    kind = np.float64 if "double" in info.type else np.float32
    x = pixels if "uint8" in info.type else (pixels / 255).astype(kind)
    channels, height, width = pixels.shape[1:]
    shape = [extent if isinstance(extent, int) else None for extent in info.shape]
    if len(shape) == 4 and shape[1] not in (channels, None):
        x = x.transpose(0, 2, 3, 1)
    elif len(shape) == 4 and shape[3] == channels and shape[1] is None:
        x = x.transpose(0, 2, 3, 1)
    elif len(shape) == 3:
        x = x.reshape(-1, height, width)
    elif len(shape) == 2 and shape != [height, width]:
        x = x.reshape(len(x), -1)
    if shape == [height, width]:  # no axis of images
        runs = [session.run(None, {info.name: image.reshape(height, width)}) for image in x]
        count = 1
    else:
        count = shape[0] or 1  # images of a batch, all of them the same
        runs = [session.run(None, {info.name: np.repeat(image[None], count, axis=0)}) for image in x]
    return [np.stack([np.ravel(run[i])[:run[i].size // count] for run in runs])
            if isinstance(runs[0][i], np.ndarray) and runs[0][i].dtype.kind == "f" else None for i in range(len(runs[0]))]


def softmax(logits):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def difference(found, logits):
    """The least of what the file may make of its logits, and its name."""
    sigmoid = 1 / (1 + np.exp(-logits))
    says = {"logits": logits, "softmax": softmax(logits), "logsoftmax": np.log(softmax(logits)), "sigmoid": sigmoid,
            "one sigmoid": 1 / (1 + np.exp(logits[:, :1] - logits[:, -1:])), "one logit": logits[:, -1:] - logits[:, :1]}
    best = (np.inf, "")
    for name, values in says.items():
        if found is not None and found.shape == values.shape:
            best = min(best, (float(np.abs(found - values).max() / np.abs(found).max()), name))
    return best


def outcome(weft, repository, name):
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        path, model = extract(repository, name, folder)
        if path is None:
            return "absent", ""
        if model is None:
            return "not onnx", ""
        element = model.graph.input[0].type.tensor_type.elem_type if model.graph.input else 0
        command = [weft, "import", str(path), "--range", "0..255" if element == onnx.TensorProto.UINT8 else "0..1",
                   "--out", str(folder / "run")]
        done = subprocess.run(command, capture_output=True, text=True)
        if "--input" in done.stderr and done.returncode != 0:
            row = re.search(r"\((?:\w+, )?(\d+)\)", done.stderr)
            side = round(int(row.group(1)) ** 0.5) if row else 28
            done = subprocess.run([*command, "--input", f"1x{side}x{side}"], capture_output=True, text=True)
        if done.returncode != 0:
            operator = re.search(r'node "[^"]*" \("([^"]*)"', done.stderr)
            return "refused", operator.group(1) if operator else done.stderr.strip().split(": ", 3)[-1][:80]
        network = json.loads(subprocess.run([weft, "inspect", str(folder / "run"), "--json"], capture_output=True,
                                            text=True, check=True).stdout.splitlines()[-1])
        pixels, files = pictures_of(folder, *(network[extent] for extent in ("channels", "height", "width")))
        plain = ["--preprocess", "none", "--invert", "no"] if network["channels"] == 1 else []
        said = subprocess.run([weft, "predict", str(folder / "run"), *files, *plain, "--json"], capture_output=True,
                              text=True)
        if said.returncode != 0:
            return "unequal", said.stderr.strip().split(": ", 3)[-1][:80]
        logits = np.array([json.loads(line)["logits"] for line in said.stdout.splitlines()])
        try:
            found = answers(session_of(path, model), pixels)
        except Exception as error:  # onnxruntime has one kind for all
            return "not run", str(error).splitlines()[0][:80]
        worst, name = min(difference(each, logits) for each in found)
        return "equal" if worst <= TOLERANCE else "unequal", f"{name} {worst:.1e}"


def write_page(page, counts):
    text = page.read_text()
    rows = "".join(f"| {text} | {counts[kind]} |\n" for kind, text in OUTCOMES.items() if counts[kind] or kind == "unequal")
    begin, end = text.index("<!-- onnx -->"), text.index("<!-- end of onnx -->")
    page.write_text(f"{text[:begin]}<!-- onnx -->\n| outcome | files |\n|---|---|\n{rows}{text[end:]}")


def main():
    np.seterr(all="ignore")  # what is compared with is finite
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("list", type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path, required=True)
    parser.add_argument("--before", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path)
    options = parser.parse_args()
    before = {}
    if options.before:
        before = {row["file"]: row["outcome"] for row in csv.DictReader(options.before.open())}
    results, worse = [], 0
    for row in csv.DictReader(options.list.open()):
        if row["picture classifier"] != "yes":
            continue
        repository = options.folder / row["repository"].replace("/", "+") / "repo"
        found, detail = outcome(options.weft, repository, row["file"])
        results.append({"file": identity(row), "outcome": found, "detail": detail})
        if found != "equal":
            print(found, row["repository"], row["file"], detail, flush=True)
        if before.get(identity(row)) == "equal" and found != "equal":
            print("  it was equal before")
            worse += 1
    results.sort(key=lambda row: row["file"])
    with options.results.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["file", "outcome", "detail"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(results)
    counts = collections.Counter(row["outcome"] for row in results)
    print(dict(counts))
    if options.page:
        write_page(options.page, counts)
    return 1 if worse or counts["unequal"] else 0


if __name__ == "__main__":
    sys.exit(main())

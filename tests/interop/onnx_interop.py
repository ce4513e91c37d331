#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Weft's networks run in onnxruntime, and come back. Needs Python with numpy, onnx and onnxruntime, also in $ONNX_PYTHON.

    python3 tests/interop/onnx_interop.py --weft build/cpu/weft --random-model build/cpu/tests/random_model

For every built-in network, and those of files with residual blocks and with each layer, with random numbers:
  weft -> onnx      the onnx package finds the exported file valid, and onnxruntime gives the logits of
                    `weft predict --json` to %(limit).0e, absolute and of the largest; in batches of 1 and
                    of all pictures. Its tensors are those of model.safetensors, bit by bit
  weft -> npz       numpy.load gives the same tensors
  tensors -> weft   `weft import --model` of the npz, and of the safetensors file without Weft's metadata, gives
                    the same tensors and logits
  onnx -> weft      `weft import` gives back the model file; without Weft's metadata the graph alone
                    gives the same tensors, and the same logits
  weft -> fp16, int8  for some networks onnxruntime gives logits that are near those of fp32, and in int8
                    near those of `weft predict --precision int8`
  int8 -> weft      a file in int8, Weft's own or of onnxruntime's quantizer, is imported as a network in fp32. Its
                    logits are those of the same graph with clipping in place of rounding in onnxruntime, to
                    %(limit).0e or a tenth of what rounding changes, and near those of the file itself
For small graphs that the onnx package makes, of what other programs do at their input and output, and of what the words of
other exporters are, tests/interop/onnx_graphs.py:
  graph -> weft     `weft predict` of an imported file gives the probabilities of onnxruntime's output
                    on the same pixels, to %(limit).0e
For files that PyTorch 2.15 exported, with both of its exporters, tests/interop/pytorch_files/*.onnx:
  file -> weft      `weft predict` of an imported file gives onnxruntime's logits, to %(limit).0e
Where there is PyTorch (and it is said when there is none):
  PyTorch -> weft   `weft predict` of an imported file gives the logits of the module that
                    torch.onnx.export wrote, to %(limit).0e
Exit code 0: all agree, 1: not, 77: a package is missing, nothing was compared.
"""
import argparse
import json
import os
import pathlib
import shutil
import sys
import tempfile
import warnings
from importlib.util import find_spec

sys.path[:0] = filter(None, [os.environ.get("ONNX_PYTHON")])
try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
import onnx_graphs
import quantized
import torch_exports
from models import (BUILT_IN, FILES, PICTURES, ROOT, by_channel, distance, logits_of, numbers_of_pixels, read_safetensors,
                    run, same_tensors, write_pictures)
from torch_exports import torch

onnxruntime.set_default_logger_severity(3)  # errors
LIMIT = 1e-5
__doc__ %= {"limit": LIMIT}
OPSETS = 11, 12, 13, 14, 15, 16, 18, 19, 20, 21, 22  # beside the default, 17
PRECISIONS = {"lenet5", "lenet5-classic", "convnet-bn", "blocks", "layers"}  # that are tried in fp16 and int8
QUANTIZED = {"lenet5", "convnet-bn", "separable", "residual", "blocks"}  # by onnxruntime
ROUNDING = 0.05  # the root of the mean square that int8 may differ by, of that of the logits
IN_ALL_SETS = {"lenet5", "resnet9", "blocks"}  # networks whose layers all of these sets have


class Report:
    def __init__(self):
        self.failed = 0

    def row(self, ok, way, what, text=""):
        self.failed += not ok
        print(f"{'ok' if ok else 'FAILED'}  {way:15}  {what:14}  {text}")


def check_export(report, weft, name, model, pictures, pixels):
    tensors, info = read_safetensors(model)
    logits = logits_of(weft, model, pictures)
    path = model.with_suffix(".onnx")
    run(weft, "export", model, "--format", "onnx")
    file = onnx.load(path)
    onnx.checker.check_model(file, full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    source, = session.get_inputs()
    answer, = session.get_outputs()
    named = (source.name, source.shape, answer.name, answer.shape) == (
        "input", ["batch", 1, 28, 28], "logits", ["batch", 10])
    images = ((pixels / 255 - by_channel(info["mean"])) / by_channel(info["stddev"])).astype(np.float32)
    all_at_once = session.run(["logits"], {"input": images})[0]
    one_by_one = np.concatenate([session.run(["logits"], {"input": image[None]})[0] for image in images])
    error = np.max([distance(logits, all_at_once), distance(logits, one_by_one)])  # not a number where one is none
    stored = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in file.graph.initializer}
    metadata = session.get_modelmeta().custom_metadata_map
    whole = named and same_tensors(stored, tensors) and json.loads(metadata["weft"]) == info
    spread = np.abs(logits - logits.mean(axis=0)).max()
    report.row(error <= LIMIT and whole and spread > 100 * LIMIT, "weft -> onnx", name,
               f"largest error {error:.1e} of {np.abs(all_at_once).max():.2f}, limit {LIMIT:.0e}")
    for opset in OPSETS if name in IN_ALL_SETS else ():
        other = model.with_name(f"{model.stem}-{opset}.onnx")
        run(weft, "export", model, "--opset", opset, "--out", other)
        onnx.checker.check_model(onnx.load(other), full_check=True)
        session = onnxruntime.InferenceSession(other, providers=["CPUExecutionProvider"])
        error = distance(logits, session.run(["logits"], {"input": images})[0])
        report.row(error <= LIMIT and onnx.load(other).opset_import[0].version == opset, "weft -> onnx", name,
                   f"operators of set {opset}: largest error {error:.1e}")
    run(weft, "export", model, "--format", "npz")
    with np.load(model.with_suffix(".npz")) as arrays:
        report.row(same_tensors(dict(arrays), tensors), "weft -> npz", name)
    check_tensors(report, weft, name, model, info, pictures, logits)
    return file, logits


def check_tensors(report, weft, name, model, info, pictures, logits):
    """The tensors alone, as another program would have them, with the network's text."""
    tensors, _ = read_safetensors(model)
    text = model.with_name(f"{name}.net")
    text.write_text(run(weft, "inspect", model, "--definition"))
    data = model.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    del header["__metadata__"]
    plain = model.with_name(f"{name}-plain.safetensors")
    said = json.dumps(header).encode()
    plain.write_bytes(len(said).to_bytes(8, "little") + said + data[8 + size:])
    numbers = numbers_of_pixels(info)
    for source in model.with_suffix(".npz"), plain:
        back = model.with_name(f"{name}-tensors.safetensors")
        run(weft, "import", source, "--model", text, "--out", back, *numbers)
        same = same_tensors(read_safetensors(back)[0], tensors)
        report.row(same and np.array_equal(logits_of(weft, back, pictures), logits), "tensors -> weft", name, source.suffix)


def apart(found, expected):
    """The root of the mean square of the difference, of that of what is expected."""
    return np.sqrt(np.square(found - expected).mean() / np.square(expected).mean())


def check_precisions(report, weft, name, model, pictures, pixels, logits):
    """Files in fp16 and int8, which is calibrated on these pictures."""
    info = read_safetensors(model)[1]
    images = ((pixels / 255 - by_channel(info["mean"])) / by_channel(info["stddev"])).astype(np.float32)
    labelled = model.with_suffix(".classes")
    for index, picture in enumerate(pictures):
        for kind in "train", "test":
            place = labelled / kind / str(index % 10)
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(picture, place)
    quantized = model.with_name(f"{model.stem}-int8.safetensors")
    data = "--precision", "int8", "--data", labelled, "--no-cache"
    run(weft, "export", model, *data, "--out", quantized)
    own = logits_of(weft, quantized, [*pictures, "--precision", "int8"])
    for precision, more, limit in ("fp16", ("--precision", "fp16"), 0.01), ("int8", data, 0.15):
        path = model.with_name(f"{model.stem}-{precision}.onnx")
        run(weft, "export", model, *more, "--out", path)
        onnx.checker.check_model(onnx.load(path), full_check=True)
        found = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(
            ["logits"], {"input": images})[0]
        errors = [apart(found, logits)] + [apart(own, logits), apart(found, own)] * (precision == "int8")
        smaller = path.stat().st_size < 0.7 * model.stat().st_size
        report.row(np.max(errors) <= limit and smaller, f"weft -> {precision}", name,
                   f"{', '.join(f'{error:.1e}' for error in errors)} apart, limit {limit}")
        if precision == "fp16":
            back = path.with_suffix(".back.safetensors")
            run(weft, "import", path, "--out", back)
            error = apart(logits_of(weft, back, pictures), found)
            report.row(error <= limit, "fp16 -> weft", name, f"{error:.1e} apart, limit {limit}")
        else:
            check_from_int8(report, weft, f"{name}, Weft's", path, pictures, images, [])


def logits_in_onnxruntime(model, images):
    options = onnxruntime.SessionOptions()
    # Without it two products of 8 bits overflow 16 on processors that have AVX2 alone.
    options.add_session_config_entry("session.x64quantprecision", "1")
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return session.run(["logits"], {"input": images})[0]


def check_from_int8(report, weft, name, path, pictures, images, flags):
    back = path.with_suffix(".back.safetensors")
    run(weft, "import", path, "--out", back, *flags)
    found = logits_of(weft, back, pictures)
    plain = logits_in_onnxruntime(quantized.unrounded(onnx.load(path)).SerializeToString(), images)
    rounded = logits_in_onnxruntime(path, images)
    error, rounding = distance(found, plain), apart(found, rounded)
    limit = max(LIMIT, rounding / 10)  # Weft leaves out what clips by less than half a level
    report.row(error <= limit and 1e-6 < rounding <= ROUNDING, "int8 -> weft", name,
               f"largest error {error:.1e}, limit {limit:.0e}; {rounding:.1e} from the levels, limit {ROUNDING}")


def check_quantized(report, weft, name, model, pictures, pixels):
    """Files of onnxruntime's quantizer, which drops a ReLU where the levels begin at 0."""
    info = read_safetensors(model)[1]
    images = ((pixels / 255 - by_channel(info["mean"])) / by_channel(info["stddev"])).astype(np.float32)
    numbers = numbers_of_pixels(info)
    for kind, options in quantized.kinds():
        path = model.with_name(f"{name}-{kind}.onnx")
        quantized.quantize(model.with_suffix(".onnx"), path, images, **options)
        if (name, kind) == ("separable", "floats"):  # which cuts off what the sigmoid of a SiLU makes
            try:
                run(weft, "import", path, "--out", path.with_suffix(".safetensors"))
                report.row(False, "int8 -> weft", name, "is no SiLU, and was imported")
            except RuntimeError as refusal:
                report.row("exit 3" in str(refusal) and '"silu1"' in str(refusal), "int8 -> weft", name, "refused by name")
            continue
        check_from_int8(report, weft, f"{name}, {kind}", path, pictures, images, numbers)


def check_import(report, weft, name, model, file, pictures, logits):
    back = model.with_name(model.stem + "-back.safetensors")
    run(weft, "import", model.with_suffix(".onnx"), "--out", back)
    report.row(back.read_bytes() == model.read_bytes(), "onnx -> weft", name, "the same file")
    del file.metadata_props[:]
    foreign = model.with_name(model.stem + "-foreign.onnx")
    onnx.save(file, foreign)
    run(weft, "import", foreign, "--out", back)
    found = logits_of(weft, back, pictures)
    same = same_tensors(read_safetensors(back)[0], read_safetensors(model)[0])
    report.row(same and np.array_equal(found, logits), "onnx -> weft", name, "the graph alone")


def graphs():
    """Name, graph, what onnxruntime is fed of pixels (n, 1, 28, 28), and the flags of `weft import`."""
    random = np.random.default_rng(5)
    helper = onnx.helper

    def tensor(name, values):
        return onnx.numpy_helper.from_array(np.asarray(values, np.float32), name)

    def graph(nodes, tensors, shape, classes, planes=()):
        value = helper.make_tensor_value_info
        return helper.make_model(helper.make_graph(
            nodes, "g", [value("x", onnx.TensorProto.FLOAT, ["n", *shape])],
            [value("y", onnx.TensorProto.FLOAT, ["n", classes, *planes])], tensors),
            opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def linear(classes):
        return [tensor("w", random.normal(0, 0.1, (classes, 784))), tensor("b", random.normal(0, 1, classes))]

    node = helper.make_node
    layer = [node("Flatten", ["x"], ["row"]), node("Gemm", ["row", "w", "b"], ["z"], transB=1)]
    half = ["--range", "-1..1"]

    def centred(pixels):
        return pixels / 127.5 - 1

    for classes, ending in (10, "Softmax"), (10, "Sigmoid"), (1, "Sigmoid"):
        yield (f"{ending.lower()}-{classes}", graph([*layer, node(ending, ["z"], ["y"])], linear(classes), (1, 28, 28),
                                                   classes), centred, half)
    log = graph([*layer, node("LogSoftmax", ["z"], ["log"], axis=1), node("Exp", ["log"], ["y"])], linear(10),
                (1, 28, 28), 10)
    log.graph.output.insert(0, helper.make_tensor_value_info("log", onnx.TensorProto.FLOAT, ["n", 10]))
    yield "log-softmax", log, centred, half
    scaled = [node("Mul", ["x", "m"], ["scaled"]), node("Sub", ["scaled", "s"], ["moved"]),
              node("Flatten", ["moved"], ["row"]), layer[1], node("Softmax", ["z"], ["y"])]
    rest = [tensor("m", 1 / 127.5), tensor("s", [1])]
    yield "rescaling", graph(scaled, [*linear(10), *rest], (1, 28, 28), 10), np.float32, []
    yield ("channels-last", graph([*layer, node("Softmax", ["z"], ["y"])], linear(10), (28, 28, 1), 10),
           lambda pixels: centred(pixels).transpose(0, 2, 3, 1), half)
    convolution = [tensor("k", random.normal(0, 1, (4, 1, 3, 3))), tensor("w", random.normal(0, 0.1, (10, 4 * 26 * 26)))]
    transposed = [node("Transpose", ["x"], ["image"], perm=[0, 3, 1, 2]), node("Conv", ["image", "k"], ["c"]),
                  node("BatchNormalization", ["c", "s", "o", "o", "v"], ["n"], epsilon=1e-12),
                  node("Flatten", ["n"], ["row"]), node("Gemm", ["row", "w"], ["z"], transB=1),
                  node("Softmax", ["z"], ["y"])]
    norm = [tensor("s", [1e-7, 0.1, 0.1, 3e-6]), tensor("o", [0, 0.1, 0, 0]), tensor("v", [0, 1, 2, 1e-9])]
    yield ("transposed", graph(transposed, [*convolution, *norm], (28, 28, 1), 10),
           lambda pixels: centred(pixels).transpose(0, 2, 3, 1), half)
    pooled = [node("Conv", ["x", "k"], ["c"]), node("GlobalAveragePool", ["c"], ["z"]),
              node("Softmax", ["z"], ["y"], axis=1)]
    planes = graph(pooled, [tensor("k", random.normal(0, 1, (10, 1, 3, 3)))], (1, 28, 28), 10, [1, 1])
    del planes.graph.output[0].type.tensor_type.shape.dim[:]
    yield "planes", planes, centred, half


def check_graphs(report, weft, folder, pictures, pixels):
    for name, file, fed, flags in graphs():
        path = folder / f"graph-{name}.onnx"
        onnx.save(file, path)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        answer = session.run(None, {"x": fed(pixels.astype(np.float32)).astype(np.float32)})[-1]
        expected = answer.reshape(PICTURES, -1).astype(np.float64)
        if expected.shape[1] == 1:
            expected = np.hstack([1 - expected, expected])
        model = path.with_suffix(".safetensors")
        run(weft, "import", path, "--out", model, *flags)
        out = run(weft, "predict", model, *pictures, "--preprocess", "none", "--invert", "no", "--top-k", 10, "--json")
        found = np.zeros_like(expected)
        for row, line in zip(found, out.splitlines()):
            for entry in json.loads(line)["top_k"]:
                row[entry["label"]] = entry["probability"]
        error = distance(found, expected)
        report.row(error <= LIMIT and np.ptp(expected) > 100 * LIMIT, "graph -> weft", name,
                   f"largest error {error:.1e}, limit {LIMIT:.0e}")


def import_error(weft, path, flags, images, expected, field="logits"):
    """How far the answers of an imported file are from the expected ones, of pictures that are as large as its input."""
    model = path.with_suffix(".safetensors")
    run(weft, "import", path, "--out", model, *flags)
    found = [json.loads(line)[field] for line in run(weft, "predict", model, *images, "--json").splitlines()]
    return np.abs(np.array(found) - expected).max() / max(1, np.abs(expected).max())


def check_exporters(report, weft, folder):
    side = onnx_graphs.SIDE
    pixels = np.random.default_rng(4).integers(0, 256, (4, 1, side, side), dtype=np.uint8)
    images = [folder / f"small-{index}.pgm" for index in range(len(pixels))]
    for image, values in zip(images, pixels):
        image.write_bytes(b"P5\n%d %d\n255\n" % (side, side) + values.tobytes())
    inputs = ((pixels / 255 - 0.5) / 0.25).astype(np.float32)
    for graph in onnx_graphs.all_graphs():
        path = folder / f"{graph.name}.onnx"
        onnx.save(graph.model(), path)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        rows = [session.run(["y"], {"x": image.reshape([1, *graph.shape[1:]])})[0] for image in inputs]
        flags = ["--mean", 0.5, "--stddev", 0.25, *(["--input", f"1x{side}x{side}"] if len(graph.shape) == 2 else [])]
        expected = np.concatenate(rows).astype(np.float64)
        field = "probabilities" if graph.name == "linear-classifier" else "logits"
        error = import_error(weft, path, flags, images, expected, field)
        report.row(error <= LIMIT and np.ptp(expected, 0).max() > 100 * LIMIT, "graph -> weft", graph.name,
                   f"largest error {error:.1e}, limit {LIMIT:.0e}")


# Where they are, more files with their right answers.
CASES = ROOT.parent / "shared" / "cases" / "interop"


def check_cases(report, weft, folder):
    for case in sorted(CASES.glob("onnx-*")):
        said = json.loads((case / "EXPECTED.json").read_text())
        flags = said["command"].split(";")[0].split()[5:]  # behind "weft import m.onnx --out run"
        key, = (key for key in said if key.startswith("onnxruntime_output_"))
        path = folder / case.name / "m.onnx"
        shutil.copytree(case, path.parent)
        field = "probabilities" if key.endswith("sigmoids") else "logits"
        error = import_error(weft, path, flags, [case / "0.pgm", case / "1.pgm"], np.array(said[key]), field)
        report.row(error <= LIMIT, "case", case.name, f"largest error {error:.1e}, limit {LIMIT:.0e}")


def check_torch_files(report, weft, folder, pictures, images):
    """Files that PyTorch wrote, on a machine without it. --keep-torch makes them."""
    files = sorted((ROOT / "tests" / "interop" / "pytorch_files").glob("*.onnx"))
    report.row(len(files) >= 18, "file -> weft", "files", f"{len(files)} from PyTorch")
    for file in files:
        session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
        source, = session.get_inputs()
        size = source.shape[0] if isinstance(source.shape[0], int) else len(images)
        expected = np.concatenate([session.run(None, {source.name: images[at:at + size]})[0]
                                   for at in range(0, len(images), size)])
        model = folder / f"{file.stem}-file.safetensors"
        run(weft, "import", file, "--out", model, "--mean", 0.5, "--stddev", 0.25)
        error = distance(logits_of(weft, model, pictures), expected)
        spread = np.abs(expected - expected.mean(axis=0)).max()
        report.row(error <= LIMIT and spread > 100 * LIMIT, "file -> weft", file.stem,
                   f"largest error {error:.1e}, limit {LIMIT:.0e}")


def check_torch(report, weft, folder, pictures, images, keep):
    exporters = ["torchscript", "dynamo", "default"] if find_spec("onnxscript") else ["torchscript"]
    if len(exporters) == 1:
        print("skipped  PyTorch -> weft by torch.export: there is no onnxscript here")
    images = torch.from_numpy(images)
    for name, module, logits in torch_exports.modules():
        module.eval()
        with torch.no_grad():
            expected = logits(images).numpy()
        for exporter in exporters:
            path = folder / f"torch-{name}-{exporter}.onnx"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                torch_exports.export(module, images, str(path), exporter)
            if keep and name != "lenet":  # which is too large to be kept
                kept = f"{name}-{exporter}.onnx"
                (keep / f"{kept}.data").unlink(missing_ok=True)  # else it grows
                onnx.save(torch_exports.without_traces(onnx.load(path)), keep / kept, save_as_external_data=exporter == "default",
                          size_threshold=100, location=f"{kept}.data")
            model = path.with_suffix(".safetensors")
            run(weft, "import", path, "--out", model, "--mean", 0.5, "--stddev", 0.25)
            error = distance(logits_of(weft, model, pictures), expected)
            report.row(error <= LIMIT, "PyTorch -> weft", name,
                       f"{exporter}: largest error {error:.1e}, limit {LIMIT:.0e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", required=True, type=pathlib.Path, help="the program")
    parser.add_argument("--random-model", required=True, type=pathlib.Path,
                        help="the test program that makes an untrained model")
    parser.add_argument("--keep-torch", type=pathlib.Path, metavar="FOLDER",
                        help="keep the small files that PyTorch exports there")
    options = parser.parse_args()
    weft = options.weft.resolve()
    report = Report()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        pictures, pixels = write_pictures(folder)
        for network in [*BUILT_IN, *FILES]:
            label = pathlib.Path(network).stem
            model = folder / f"{label}.safetensors"
            run(options.random_model.resolve(), network, model)
            file, logits = check_export(report, weft, label, model, pictures, pixels)
            check_import(report, weft, label, model, file, pictures, logits)
            if label in PRECISIONS:
                check_precisions(report, weft, label, model, pictures, pixels, logits)
            if label in QUANTIZED:
                check_quantized(report, weft, label, model, pictures, pixels)
        check_graphs(report, weft, folder, pictures, pixels)
        check_exporters(report, weft, folder)
        check_cases(report, weft, folder)
        images = ((pixels / 255 - 0.5) / 0.25).astype(np.float32)
        check_torch_files(report, weft, folder, pictures, images)
        if torch is None:
            print("skipped  PyTorch -> weft: there is no PyTorch here")
        else:
            check_torch(report, weft, folder, pictures, images, options.keep_torch)
    print("Weft and ONNX agree" if report.failed == 0 else f"{report.failed} differences")
    sys.exit(1 if report.failed else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tries the ONNX project's own tests of operators as classifiers, and compares with onnxruntime.

    python3 tests/outside/onnx_nodes.py WEFT [--results FILE.csv]

A test fits where its first input is an image or a row of floats, its other inputs may be tensors of the file, and it
makes one value of each image. Behind it come a Flatten and a Gemm of five classes. Pictures are random, and equal means
the same as in onnx_files.py. Needs Python with onnx, onnxruntime and numpy. The exit code is 1 when a test is unequal.
"""
import argparse
import collections
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import onnx_files
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

OPERATORS = set("""AveragePool BatchNormalization Clip Conv Dropout Elu Flatten Gelu GlobalAveragePool GlobalMaxPool
GroupNormalization HardSigmoid HardSwish Identity InstanceNormalization LayerNormalization LeakyRelu LogSoftmax MaxPool
MeanVarianceNormalization PRelu Pad ReduceMean Relu Reshape Sigmoid Softmax Squeeze Swish Tanh Transpose""".split())


def operator_of(name, model):
    """The operator that the test is of, also where it is written as several."""
    types = {node.op_type for node in model.graph.node}
    words = {"layer_normalization": "LayerNormalization", "group_normalization": "GroupNormalization", "gelu": "Gelu",
             "mvn": "MeanVarianceNormalization", "elu": "Elu", "relu": "Relu", "clip": "Clip", "prelu": "PRelu",
             "hardsigmoid": "HardSigmoid", "hardswish": "HardSwish", "leakyrelu": "LeakyRelu", "swish": "Swish"}
    if "expanded" in name:
        stem = name.removeprefix("test_")
        return next((operator for word, operator in sorted(words.items(), key=lambda pair: -len(pair[0]))
                     if stem.startswith(word)), None)
    return types.pop() if len(types) == 1 and types <= OPERATORS else None


def classifier_of(test):
    """The test as a network of five classes, or None where it does not fit."""
    model = test.model
    operator = operator_of(test.name, model)
    graph = model.graph
    if operator is None or any(opset.domain not in ("", "ai.onnx") for opset in model.opset_import):
        return None
    used = [one for one in graph.output if one.name]
    inputs, outputs = test.data_sets[0]
    if len(used) != 1 or not all(isinstance(one, np.ndarray) for one in [*inputs, *outputs]) or not graph.input:
        return None
    main, expected = inputs[0], outputs[0]
    shape = list(main.shape)
    is_image = len(shape) == 4 and shape[1] in (1, 3) and shape[2] > 1 and shape[3] > 1
    if "_1d_" in test.name or (operator == "ReduceMean" and not is_image):
        return None
    if main.dtype != np.float32 or not (is_image or len(shape) in (2, 3)):
        return None
    if expected.dtype != np.float32 or expected.ndim < 2 or expected.shape[0] != shape[0]:
        return None
    for value, array in list(zip(graph.input, inputs))[1:]:
        graph.initializer.append(numpy_helper.from_array(np.asarray(array), value.name))
    del graph.input[1:]
    graph.input[0].CopyFrom(helper.make_tensor_value_info(graph.input[0].name, onnx.TensorProto.FLOAT, shape))
    values = int(np.prod(expected.shape[1:]))
    if operator in ("Softmax", "LogSoftmax"):  # the last operator, so the layer comes in front of it
        if len(shape) != 2 or any(one.name == "axis" and one.i not in (1, -1) for one in graph.node[0].attribute):
            return None
        weight = np.random.default_rng(5).normal(size=(256, shape[1])).astype(np.float32)
        first = graph.input[0].name
        graph.initializer.append(numpy_helper.from_array(weight, "weft/weight"))
        graph.node.insert(0, helper.make_node("Flatten", ["weft/image"], ["weft/row"]))
        graph.node.insert(1, helper.make_node("MatMul", ["weft/row", "weft/weight"], [first]))
        graph.input[0].CopyFrom(helper.make_tensor_value_info("weft/image", onnx.TensorProto.FLOAT, [1, 1, 16, 16]))
        graph.output[0].CopyFrom(helper.make_tensor_value_info(used[0].name, onnx.TensorProto.FLOAT, [1, shape[1]]))
        return operator, model, [1, 1, 16, 16]
    weight = np.random.default_rng(5).normal(size=(values, 5)).astype(np.float32)
    graph.initializer.append(numpy_helper.from_array(weight, "weft/weight"))
    graph.initializer.append(numpy_helper.from_array(np.arange(5, dtype=np.float32), "weft/bias"))
    graph.node.append(helper.make_node("Flatten", [used[0].name], ["weft/row"]))
    graph.node.append(helper.make_node("Gemm", ["weft/row", "weft/weight", "weft/bias"], ["weft/logits"]))
    del graph.output[:]
    graph.output.append(helper.make_tensor_value_info("weft/logits", onnx.TensorProto.FLOAT, [shape[0], 5]))
    return operator, model, shape


def outcome(weft, model, shape):
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        path = folder / "m.onnx"
        onnx.save(model, path)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        try:
            session = onnxruntime.InferenceSession(str(path), options)
        except Exception:  # onnxruntime has one kind for all
            return "not run", ""
        command = [weft, "import", str(path), "--range", "0..1", "--out", str(folder / "run")]
        done = subprocess.run(command, capture_output=True, text=True)
        if "--input" in done.stderr and done.returncode != 0:
            done = subprocess.run([*command, "--input", f"1x1x{shape[1]}"], capture_output=True, text=True)
        if done.returncode != 0:
            operator = re.search(r'node "[^"]*" \("([^"]*)"\): (.*)', done.stderr)
            return "refused", (operator.group(1) + ": " + operator.group(2) if operator
                               else done.stderr.strip().split(": ", 3)[-1])[:120]
        network = json.loads(subprocess.run([weft, "inspect", str(folder / "run"), "--json"], capture_output=True,
                                            text=True, check=True).stdout.splitlines()[-1])
        pixels, files = onnx_files.pictures_of(folder, *(network[extent] for extent in ("channels", "height", "width")))
        is_drawn = network["channels"] == 1 and 14 <= min(network["height"], network["width"])
        plain = ["--preprocess", "none", "--invert", "no"] if is_drawn else []
        said = subprocess.run([weft, "predict", str(folder / "run"), *files, *plain, "--json"], capture_output=True,
                              text=True)
        if said.returncode != 0:
            return "unequal", said.stderr.strip()[-100:]
        logits = np.array([json.loads(line)["logits"] for line in said.stdout.splitlines()])
        expected = onnx_files.answers(session, pixels)[0]
        error, _ = onnx_files.difference(expected, logits)
        return "equal" if error <= onnx_files.TOLERANCE else "unequal", f"{error:.1e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("--results", type=pathlib.Path)
    options = parser.parse_args()
    rows = []
    for test in sorted(collect_testcases(None), key=lambda test: test.name):
        found = classifier_of(test)
        if found is None:
            continue
        operator, model, shape = found
        said, detail = outcome(options.weft, model, shape)
        rows.append({"test": test.name, "operator": operator, "outcome": said, "detail": detail})
        if said != "equal":
            print(test.name, said, detail, flush=True)
    print(len(rows), dict(collections.Counter(row["outcome"] for row in rows)))
    if options.results:
        with options.results.open("w", newline="") as file:
            writer = csv.DictWriter(file, ["test", "operator", "outcome", "detail"], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    return 1 if any(row["outcome"] == "unequal" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tries the ONNX project's own tests of operators as classifiers, and compares with onnxruntime.

    python3 tests/outside/onnx_nodes.py WEFT [--results FILE.csv]

A test fits where its first input is an image or a row of floats, its other inputs may be tensors of the file, and it
makes one value of each image, whatever the others are. Behind it come a Flatten and a Gemm of five classes. Pictures are
random, and equal means the same as in onnx_files.py. Needs Python with onnx, onnxruntime and numpy. The exit code is 1 when
a test is unequal.
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

OPERATORS = set("""Add AveragePool BatchNormalization Celu Clip Conv Div Dropout Elu Flatten Gelu Gemm GlobalAveragePool
GlobalMaxPool GroupNormalization HardSigmoid HardSwish Identity InstanceNormalization LRN LayerNormalization LeakyRelu LogSoftmax
MatMul MaxPool MeanVarianceNormalization Mul Neg PRelu Pad ReduceMax ReduceMean Relu Reshape Selu Sigmoid Softmax Softplus
Softsign Squeeze Sub Swish Tanh ThresholdedRelu Transpose Unsqueeze""".split())


def operator_of(name, model):
    """The operator that the test is of, also where it is written as several."""
    types = {node.op_type for node in model.graph.node}
    words = {"layer_normalization": "LayerNormalization", "group_normalization": "GroupNormalization", "gelu": "Gelu",
             "mvn": "MeanVarianceNormalization", "elu": "Elu", "relu": "Relu", "clip": "Clip", "prelu": "PRelu",
             "hardsigmoid": "HardSigmoid", "hardswish": "HardSwish", "leakyrelu": "LeakyRelu", "swish": "Swish",
             "celu": "Celu", "selu": "Selu", "softplus": "Softplus", "softsign": "Softsign", "thresholdedrelu": "ThresholdedRelu",
             "softmax": "Softmax", "logsoftmax": "LogSoftmax"}
    if "expanded" in name:
        stem = name.removeprefix("test_")
        return next((operator for word, operator in sorted(words.items(), key=lambda pair: -len(pair[0]))
                     if stem.startswith(word)), None)
    return types.pop() if len(types) == 1 and types <= OPERATORS else None


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def keeps_images_apart(model, shape):
    """Is the answer to an image the same wherever it stands in the batch, and whatever the others are?"""
    try:
        session = session_of(model)
        images = np.random.default_rng(6).normal(size=shape).astype(np.float32)
        others = np.concatenate([images[:1], 2 * images[1:] + 1])
        name = session.get_inputs()[0].name
        answers, turned, beside = (session.run(None, {name: batch})[0] for batch in (images, images[::-1], others))
    except Exception:  # onnxruntime has one kind for all
        return True  # which says nothing against it

    def same(a, b):
        return a.shape == b.shape and np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)
    return same(answers, turned[::-1]) and same(answers[:1], beside[:1])


def classifier_of(test):
    """The test as a network of five classes, or None where it does not fit."""
    model = test.model
    operator = operator_of(test.name, model)
    graph = model.graph
    if operator is None or any(opset.domain not in ("", "ai.onnx") for opset in model.opset_import):
        return None
    inputs, outputs = test.data_sets[0]
    if not all(isinstance(one, (np.ndarray, np.generic)) for one in [*inputs, *outputs]) or not graph.input:
        return None
    main, expected = inputs[0], outputs[0]
    shape = list(main.shape)
    is_image = len(shape) == 4 and shape[2] * shape[3] > 1
    if "_1d_" in test.name or "training" in test.name or (operator.startswith("Reduce") and not is_image):
        return None
    if main.dtype != np.float32 or not (is_image or len(shape) in (2, 3)):
        return None
    if expected.dtype != np.float32 or expected.ndim < 2 or expected.shape[0] != shape[0]:
        return None
    for value, array in list(zip(graph.input, inputs))[1:]:
        graph.initializer.append(numpy_helper.from_array(np.asarray(array), value.name))
    del graph.input[1:]
    first, answer = graph.input[0].name, graph.output[0].name
    graph.input[0].CopyFrom(helper.make_tensor_value_info(first, onnx.TensorProto.FLOAT, shape))
    values = int(np.prod(expected.shape[1:]))
    del graph.output[1:]
    random = np.random.default_rng(5)

    def add_tensor(name, *extents):
        graph.initializer.append(numpy_helper.from_array(random.normal(size=extents).astype(np.float32), name))
        return name

    if operator in ("Softmax", "LogSoftmax"):  # the last operator, so the layer comes in front of it
        if len(shape) != 2 or any(one.name == "axis" and one.i not in (1, -1) for one in graph.node[0].attribute):
            return None
        graph.node.insert(0, helper.make_node("Flatten", ["weft/image"], ["weft/row"]))
        graph.node.insert(1, helper.make_node("MatMul", ["weft/row", add_tensor("weft/weight", 256, shape[1])], [first]))
        graph.input[0].CopyFrom(helper.make_tensor_value_info("weft/image", onnx.TensorProto.FLOAT, [1, 1, 16, 16]))
        graph.output[0].CopyFrom(helper.make_tensor_value_info(answer, onnx.TensorProto.FLOAT, [1, shape[1]]))
        return operator, model, [1, 1, 16, 16]
    if is_image and shape[1] not in (1, 3):  # which no picture has: a convolution makes them
        node = helper.make_node("Conv", ["weft/image", add_tensor("weft/filters", shape[1], 1, 1, 1)], [first])
        graph.node.insert(0, node)
        shape[1] = 1
        graph.input[0].CopyFrom(helper.make_tensor_value_info("weft/image", onnx.TensorProto.FLOAT, shape))
    graph.node.append(helper.make_node("Flatten", [answer], ["weft/row"]))
    graph.node.append(helper.make_node("Gemm", ["weft/row", add_tensor("weft/weight", values, 5), "weft/bias"], ["weft/logits"]))
    graph.initializer.append(numpy_helper.from_array(np.arange(5, dtype=np.float32), "weft/bias"))
    graph.output[0].CopyFrom(helper.make_tensor_value_info("weft/logits", onnx.TensorProto.FLOAT, [shape[0], 5]))
    return (operator, model, shape) if keeps_images_apart(model, shape) else None


def outcome(weft, model, shape):
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        path = folder / "m.onnx"
        onnx.save(model, path)
        try:
            session = session_of(model)
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

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Small graphs in the words of several exporters, with drawn weights. tests/interop/onnx_interop.py runs them.

    python3 tests/interop/onnx_graphs.py FOLDER    # writes each as FOLDER/NAME.onnx: the corpus of tests/fuzz/fuzz_onnx.cpp
"""
import os
import pathlib
import sys

sys.path[:0] = filter(None, [os.environ.get("ONNX_PYTHON")])
import numpy as np
import onnx
from onnx import TensorProto, helper

SIDE = 8  # of an image of one channel
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


class Graph:
    """A graph that grows node by node, from `x` to `y`."""

    def __init__(self, name, shape=("n", 1, SIDE, SIDE), opset=17):
        self.name, self.shape, self.opset = name, shape, opset
        self.nodes, self.tensors = [], []
        self.random = np.random.default_rng(sum(map(ord, name)))

    def node(self, op, *inputs, output=None, **attributes):
        output = output or f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, [*inputs], [output], output, **attributes))
        return output

    def tensor(self, values, kind=np.float32):
        name = f"t{len(self.tensors)}"
        self.tensors.append(onnx.numpy_helper.from_array(np.asarray(values, kind), name))
        return name

    def numbers(self, *values):
        return self.tensor(values, np.int64)

    def drawn(self, *shape, scale=0.5):
        return self.tensor(self.random.normal(0, scale, shape))

    def linear(self, value, inputs, transposed=True):
        shape = (10, inputs) if transposed else (inputs, 10)
        return self.node("Gemm", value, self.drawn(*shape), self.drawn(10), output="y", transB=int(transposed))

    def model(self):
        value = helper.make_tensor_value_info
        made = helper.make_graph(self.nodes, "g", [value("x", FLOAT, self.shape)], [value("y", FLOAT, None)], self.tensors)
        return helper.make_model(made, opset_imports=[helper.make_opsetid("", self.opset),
                                                      helper.make_opsetid("ai.onnx.ml", 3)], ir_version=8)


def view(name, opset):
    """x.view(x.size(0), -1), the batch open."""
    g = Graph(name, opset=opset)
    c = g.node("Relu", g.node("Conv", "x", g.drawn(2, 1, 3, 3)))
    size = g.node("Gather", g.node("Shape", c), g.tensor(0, np.int64), axis=0)
    first = g.node("Unsqueeze", size, g.numbers(0)) if opset >= 13 else g.node("Unsqueeze", size, axes=[0])
    g.linear(g.node("Reshape", c, g.node("Concat", first, g.numbers(-1), axis=0)), 72)
    return g


def sliced():
    """The batch as a slice of the shape, and the rest as the product of another."""
    g = Graph("sliced")
    c = g.node("Conv", "x", g.drawn(2, 1, 3, 3))
    batch = g.node("Slice", g.node("Shape", c), g.numbers(0), g.numbers(1), g.numbers(0))
    rest = g.node("ReduceProd", g.node("Slice", g.node("Shape", c), g.numbers(1), g.numbers(2 ** 63 - 1)), keepdims=1)
    g.linear(g.node("Reshape", c, g.node("Cast", g.node("Concat", batch, rest, axis=0), to=INT64)), 72)
    return g


def channels_last():
    """tf2onnx: a bias, a normalisation and an activation behind a Transpose, a mean, and a row of the pixels."""
    g = Graph("channels-last")
    c = g.node("Transpose", g.node("Conv", "x", g.drawn(4, 1, 3, 3), auto_pad="SAME_UPPER"), perm=[0, 2, 3, 1])
    c = g.node("Mul", g.node("Sub", g.node("Add", c, g.drawn(4)), g.drawn(4)), g.tensor([0.5, 2, -1, 1]))
    c = g.node("MaxPool", g.node("Transpose", g.node("Relu", c), perm=[0, 3, 1, 2]), kernel_shape=[2, 2], strides=[2, 2])
    row = g.node("Reshape", g.node("Transpose", c, perm=[0, 2, 3, 1]), g.numbers(-1, 64))
    g.node("Add", g.node("MatMul", row, g.drawn(64, 10)), g.drawn(10), output="y")
    return g


def mean_of_pixels():
    g = Graph("mean-of-pixels", opset=13)
    c = g.node("Transpose", g.node("Conv", "x", g.drawn(4, 1, 3, 3)), perm=[0, 2, 3, 1])
    g.linear(g.node("ReduceMean", g.node("Relu", c), axes=[1, 2], keepdims=0), 4, False)
    return g


def cntk():
    """A weight of four extents that the graph makes a matrix of, and a bias as an image."""
    g = Graph("cntk", (1, 1, SIDE, SIDE), 8)
    c = g.node("Div", "x", g.tensor(2))
    c = g.node("Conv", c, g.drawn(4, 1, 5, 5), auto_pad="SAME_UPPER", strides=[1, 1], dilations=[1, 1], group=1)
    c = g.node("MaxPool", g.node("Relu", g.node("Add", c, g.drawn(4, 1, 1))), kernel_shape=[2, 2], strides=[2, 2],
               auto_pad="NOTSET", pads=[0, 0, 0, 0])
    weight = g.node("Reshape", g.drawn(4, 4, 4, 10), g.numbers(64, 10))
    g.node("Add", g.node("MatMul", g.node("Reshape", c, g.numbers(1, 64)), weight), g.drawn(1, 10), output="y")
    return g


def padded():
    """Pad in front of a convolution, of pooling behind a ReLU and of a mean; padding of one side."""
    g = Graph("padded")
    c = g.node("Pad", "x", g.numbers(0, 0, 1, 2, 0, 0, 2, 1), g.tensor(0))
    c = g.node("Relu", g.node("Conv", c, g.drawn(2, 1, 3, 3), pads=[0, 1, 0, 1]))
    c = g.node("MaxPool", g.node("Pad", c, g.numbers(0, 0, 1, 1, 0, 0, 1, 1)), kernel_shape=[3, 3], strides=[1, 1])
    c = g.node("Pad", c, g.numbers(*[0] * 8))
    c = g.node("AveragePool", g.node("Pad", c, g.numbers(0, 0, 1, 1, 0, 0, 1, 1)), kernel_shape=[3, 3], strides=[3, 3],
               ceil_mode=0)
    g.linear(g.node("Flatten", c, axis=-3), 2 * 3 * 4)
    return g


def dilated():
    g = Graph("dilated")
    c = g.node("Clip", g.node("Conv", "x", g.drawn(2, 1, 3, 2), dilations=[2, 3], strides=[1, 2], pads=[1, 0, 0, 2]),
               g.tensor(0))
    g.linear(g.node("Flatten", c), 2 * 5 * 4)
    return g


def same(name, upper, stride):
    """Automatic padding that is odd."""
    g = Graph(name)
    c = g.node("Conv", "x", g.drawn(2, 1, 4, 3), auto_pad="SAME_UPPER" if upper else "SAME_LOWER", strides=[stride] * 2)
    g.linear(g.node("Flatten", c), 2 * (SIDE // stride) ** 2)
    return g


def normalised_rows(name, old):
    """A normalisation of rows in front of an activation and behind one."""
    g = Graph(name, opset=11)

    def norm(value, count):
        tensors = [g.drawn(count) for _ in range(3)] + [g.tensor(g.random.uniform(0.5, 2, count))]
        if not old:
            return g.node("BatchNormalization", value, *tensors, epsilon=1e-3)
        return g.node("Squeeze", g.node("BatchNormalization", g.node("Unsqueeze", value, axes=[2]), *tensors), axes=[2])

    c = norm(g.node("Gemm", g.node("Flatten", "x"), g.drawn(6, 64), transB=1), 6)
    c = norm(g.node("Dropout", norm(g.node("Sigmoid", c), 6)), 6)
    g.linear(c, 6)
    return g


def factors():
    """alpha, beta, biases of other shapes, and arithmetic with numbers around layers."""
    g = Graph("factors")
    two = g.node("Constant", value_float=2.0)
    c = g.node("Sub", g.tensor([1.0]), g.node("Mul", g.node("Conv", "x", g.drawn(2, 1, 3, 3), g.drawn(2)), two))
    c = g.node("Div", g.node("Add", g.node("Relu", c), g.drawn(1, 2, 1, 1)), g.tensor([[[2.0]], [[-4.0]]]))
    c = g.node("Gemm", g.node("Flatten", c), g.drawn(72, 5), g.drawn(1, 5), alpha=0.5, beta=3.0)
    c = g.node("Mul", g.node("Add", g.node("Tanh", c), g.drawn(5)), g.drawn(1, 5))
    g.node("Sub", g.node("Gemm", c, g.drawn(10, 5), g.tensor([1.0]), transB=1), g.drawn(10), output="y")
    return g


def constants():
    """A weight that is cut, turned, cast and put together in the graph."""
    g = Graph("constants")
    kernel = g.node("Concat", g.node("ConstantOfShape", g.numbers(1, 1, 3, 3),
                                     value=helper.make_tensor("v", FLOAT, [1], [0.25])), g.drawn(1, 1, 3, 3), axis=0)
    c = g.node("Identity", g.node("Conv", "x", kernel))
    c = g.node("Cast", g.node("Clip", c), to=FLOAT)
    weight = g.node("Slice", g.drawn(11, 80), g.numbers(10, 0), g.numbers(0, 72), g.numbers(0, 1), g.numbers(-1, 1))
    weight = g.node("Transpose", g.node("Sqrt", g.node("Mul", weight, weight)))
    bias = g.node("Cast", g.node("Gather", g.numbers(*range(20)), g.numbers(*range(0, 20, 2))), to=FLOAT)
    c = g.node("MatMul", g.node("Reshape", c, g.node("Constant", value_ints=[0, -1])), weight)
    g.node("Add", bias, c, output="y")
    return g


def squeezed():
    """Planes of one number, an axis at a time, and a ceil_mode where the windows fit."""
    g = Graph("squeezed")
    c = g.node("MaxPool", g.node("Conv", "x", g.drawn(4, 1, 3, 3)), kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
    c = g.node("GlobalAveragePool", g.node("Max", g.tensor([0.0]), c))
    c = g.node("Squeeze", g.node("Squeeze", c, g.numbers(-1)), g.numbers(2))
    g.linear(c, 4)
    return g


def scaled_row():
    g = Graph("scaled-row")
    g.linear(g.node("Div", g.node("Flatten", "x"), g.tensor([4.0])), 64)
    return g


def rows_as_images():
    g = Graph("rows-as-images", ("n", 64))
    c = g.node("Reshape", "x", g.numbers(-1, 1, SIDE, SIDE))
    g.linear(g.node("Flatten", g.node("Conv", c, g.drawn(2, 1, 3, 3))), 72)
    return g


def scaled_images(name, turned):
    """A row that is made an image, scaled, perhaps turned, and made a row again."""
    g = Graph(name, ("n", 64))
    c = g.node("Mul", g.tensor([[2.0]]), g.node("Reshape", "x", g.numbers(-1, 1, SIDE, SIDE)))
    c = g.node("Add", c, g.tensor(3.0))
    if turned:
        c = g.node("Transpose", g.node("Tanh", g.node("Conv", c, g.drawn(2, 1, 1, 1))), perm=[0, 3, 1, 2])
    g.linear(g.node("Flatten", c), 128 if turned else 64)
    return g


def many_outputs():
    """A classifier of scikit-learn: labels, which need operators that Weft has not, and scores."""
    g = Graph("many-outputs", ("n", 64))
    c = g.node("Relu", g.node("Add", g.node("MatMul", "x", g.drawn(64, 6)), g.drawn(1, 6)))
    scores = g.node("Add", g.node("MatMul", c, g.drawn(6, 10)), g.drawn(1, 10), output="y")
    g.node("ArgMax", scores, axis=1, output="labels")
    g.nodes.reverse()
    return g


def linear_classifier():
    """scikit-learn's logistic regression."""
    g = Graph("linear-classifier", ("n", 64))
    weight, bias = g.random.normal(0, 0.05, 640), g.random.normal(0, 1, 10)
    domain = {"domain": "ai.onnx.ml"}
    g.nodes.append(helper.make_node("LinearClassifier", ["x"], ["label", "p"], classlabels_ints=[*range(10)], multi_class=1,
                                    coefficients=weight, intercepts=bias, post_transform="SOFTMAX", **domain))
    g.nodes.append(helper.make_node("Normalizer", ["p"], ["y"], norm="L1", **domain))
    return g


def activations(name, opset, *operators):
    """Operators of one number, behind each other: (type, attributes) or, with tensors, (type, tensors, attributes)."""
    g = Graph(name, opset=opset)
    c = g.node("Conv", "x", g.drawn(4, 1, 3, 3, scale=3))
    for operator, *tensors, attributes in operators:
        c = g.node(operator, c, *(g.tensor(values) for values in tensors), **attributes)
        c = g.node("Conv", c, g.drawn(4, 4, 1, 1, scale=1))
    g.linear(g.node("Flatten", c), 144)
    return g


def gates(name, opset, channels_last):
    """SiLU, HardSwish and both forms of GELU, as PyTorch, TensorFlow and others write them."""
    g = Graph(name, opset=opset)
    c = g.node("Conv", "x", g.drawn(4, 1, 3, 3, scale=3))
    if channels_last:
        c = g.node("Transpose", c, perm=[0, 2, 3, 1])
    c = g.node("Mul", c, g.node("Sigmoid", c))
    c = g.node("Mul", c, g.node("HardSigmoid", c, alpha=1 / 6, beta=0.5))
    c = g.node("Div", g.node("Mul", c, g.node("Clip", g.node("Add", c, g.tensor(3)), g.tensor(0), g.tensor(6))), g.tensor(6))
    erf = g.node("Add", g.node("Erf", g.node("Mul", c, g.tensor(0.5 ** 0.5))), g.tensor(1))
    c = g.node("Mul", g.node("Mul", c, erf), g.tensor(0.5))
    cube = g.node("Mul", g.node("Pow", c, g.tensor(3)), g.tensor(0.044715))
    u = g.node("Mul", g.node("Add", c, cube), g.tensor((2 / np.pi) ** 0.5))
    c = g.node("Mul", g.node("Mul", g.tensor(0.5), c), g.node("Add", g.tensor(1), g.node("Tanh", u)))
    g.linear(g.node("Flatten", c), 144)
    return g


def mobile():
    """Depthwise and pointwise convolutions, groups, dilation, and a normalisation behind a group."""
    g = Graph("mobile")
    c = g.node("Conv", "x", g.drawn(4, 1, 3, 3), g.drawn(4), pads=[1] * 4)
    c = g.node("Conv", c, g.drawn(4, 1, 3, 3), pads=[1] * 4, group=4)
    c = g.node("BatchNormalization", c, *[g.drawn(4) for _ in range(3)], g.tensor(g.random.uniform(0.5, 2, 4)))
    c = g.node("Conv", g.node("Clip", c, g.tensor(0), g.tensor(6)), g.drawn(6, 4, 1, 1), g.drawn(6))
    c = g.node("Conv", c, g.drawn(4, 3, 3, 3), g.drawn(4), group=2, strides=[2, 1], auto_pad="SAME_UPPER")
    c = g.node("Conv", c, g.drawn(8, 1, 2, 2), group=4, dilations=[2, 3], pads=[0, 1, 1, 0])
    g.linear(g.node("Flatten", c), 8 * 3 * 6)
    return g


def windows():
    """Means that do not count padding, windows beyond the edge, and automatic padding of one side."""
    g = Graph("windows")
    c = g.node("Relu", g.node("Conv", "x", g.drawn(4, 1, 3, 3), pads=[1] * 4))
    c = g.node("AveragePool", c, kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4)
    c = g.node("MaxPool", c, kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER")
    c = g.node("MaxPool", c, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    c = g.node("AveragePool", c, kernel_shape=[2, 2], strides=[1, 1], auto_pad="SAME_LOWER")
    g.linear(g.node("Flatten", c), 16)
    return g


def levels():
    """Whole numbers behind DequantizeLinear, floats between both operators, and values between them."""
    g = Graph("levels", opset=21)

    def pair(value, scale, zero, kind):
        numbers = [g.tensor(scale), g.tensor(zero, kind)]
        return g.node("DequantizeLinear", g.node("QuantizeLinear", value, *numbers), *numbers)

    def tensor(kind, *shape, axis=0):
        drawn = g.random.integers(0 if np.dtype(kind).kind == "u" else -100, 100, shape)
        scale = g.tensor(g.random.uniform(0.005, 0.02, shape[axis]))
        return g.node("DequantizeLinear", g.tensor(drawn, kind), scale, g.tensor([3] * shape[axis], kind), axis=axis)

    c = g.node("Conv", pair("x", 0.02, 100, np.uint8), tensor(np.int8, 4, 1, 3, 3), tensor(np.int32, 4))
    c = pair(g.node("Relu", c), 0.05, -128, np.int8)
    c = pair(g.node("Conv", c, tensor(np.uint8, 4, 4, 1, 1, axis=1)), 0.001, 0, np.int16)
    c = g.node("MaxPool", c, kernel_shape=[3, 3], strides=[3, 3])
    weight, bias = pair(g.drawn(10, 16), 0.01, 5, np.int8), pair(g.drawn(10), 0.02, 0, np.uint16)
    g.node("Gemm", g.node("Flatten", c), weight, bias, output="y", transB=1)
    return g


def halves():
    """16-bit floats of both kinds between Casts."""
    g = Graph("halves")
    c = g.node("Conv", g.node("Cast", "x", to=TensorProto.FLOAT16), g.tensor(g.random.normal(0, 1, (4, 1, 3, 3)), np.float16))
    c = g.node("MaxPool", g.node("Relu", c), kernel_shape=[3, 3], strides=[3, 3])
    c = g.node("Cast", g.node("Flatten", c), to=TensorProto.BFLOAT16)
    g.tensors.append(helper.make_tensor("w", TensorProto.BFLOAT16, (10, 16), g.random.normal(0, 1, 160)))
    g.node("Cast", g.node("Gemm", c, "w", transB=1), to=FLOAT, output="y")
    return g


def all_graphs():
    yield from (view("view-11", 11), view("view-18", 18), sliced(), channels_last(), mean_of_pixels(), cntk(), padded(),
                dilated(), same("same-upper", True, 1), same("same-lower", False, 2), normalised_rows("rows", False),
                normalised_rows("old-rows", True), factors(), constants(), squeezed(), scaled_row(), rows_as_images(),
                scaled_images("scaled-images", False), scaled_images("turned-images", True), many_outputs(),
                linear_classifier(),
                activations("slopes", 17, ("LeakyRelu", {"alpha": 0.2}), ("Elu", {"alpha": 0.5}), ("PRelu", 0.25, {}),
                            ("PRelu", [[[0.5]], [[-1]], [[2]], [[0]]], {})),
                activations("smooth", 20, ("Gelu", {}), ("HardSwish", {}), ("Gelu", {"approximate": "tanh"})),
                activations("bounds", 17, ("Clip", 0, 6, {}), ("Clip", -1, 2, {}), ("HardSigmoid", {"alpha": 0.3})),
                activations("old-activations", 9, ("LeakyRelu", {}), ("Elu", {}), ("HardSigmoid", {}),
                            ("Clip", {"min": 0.0, "max": 6.0}), ("PRelu", [0.5], {})),
                activations("slopes-of-values", 17, ("PRelu", np.linspace(-1, 2, 144).reshape(4, 6, 6), {}),
                            ("PRelu", [0.5, -1, 2, 0, 3, 1], {})),
                mobile(), windows(), gates("gates", 13, False), gates("gates-channels-last", 17, True))


def rounded_graphs():
    """Those that Weft reads without rounding as the file does: for the fuzzer alone."""
    yield from (levels(), halves())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for graph in (*all_graphs(), *rounded_graphs()):
        onnx.save(graph.model(), pathlib.Path(sys.argv[1]) / f"{graph.name}.onnx")

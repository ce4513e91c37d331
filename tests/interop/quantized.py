# SPDX-License-Identifier: MIT
"""ONNX files in 8-bit integers, as onnxruntime's quantizer makes them, and what is left of them without rounding."""
import contextlib
import logging
import os
import sys

sys.path[:0] = filter(None, [os.environ.get("ONNX_PYTHON")])
import numpy as np
import onnx
from onnx import helper, numpy_helper


def quantize(source, target, images, **options):
    """onnxruntime's file of another, calibrated on these images; `options` are those of quantize_static()."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

    class Images(CalibrationDataReader):
        left = [{"input": image[None]} for image in images]

        def get_next(self):
            return self.left.pop() if self.left else None

    logging.disable(logging.WARNING)  # it would rather have another form of the graph
    with contextlib.redirect_stdout(None):
        quantize_static(source, target, Images(), quant_format=QuantFormat.QDQ, **options)


def kinds():
    """What onnxruntime's quantizer is asked for: a name, and its options."""
    from onnxruntime.quantization import CalibrationMethod, QuantType
    yield "unsigned", {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
    yield "filters", {"activation_type": QuantType.QInt8, "weight_type": QuantType.QInt8, "per_channel": True}
    yield "floats", {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QUInt8,
                     "calibrate_method": CalibrationMethod.Percentile,
                     "extra_options": {"AddQDQPairToWeight": True, "CalibPercentile": 99}}
    yield "words", {"activation_type": QuantType.QUInt16, "weight_type": QuantType.QInt8,
                    "extra_options": {"UseQDQContribOps": True}}


def unrounded(model):
    """A graph whose tensors are the numbers of their levels, and in which each QuantizeLinear with its DequantizeLinear only clips."""
    graph = model.graph
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    made_by = {output: node for node in graph.node for output in node.output}
    nodes, tensors = [], {}
    for node in graph.node:
        if node.op_type == "QuantizeLinear":
            continue
        if node.op_type != "DequantizeLinear":
            nodes.append(node)
            continue
        scale, zero = values[node.input[1]], values[node.input[2]]
        axis = next((a.i for a in node.attribute if a.name == "axis"), 1)
        levels = np.iinfo(zero.dtype)
        source = made_by.get(node.input[0])
        of = values.get(source.input[0] if source else node.input[0])
        if of is None:
            low, high = ((np.float32(end) - np.float32(zero)) * scale for end in (levels.min, levels.max))
            tensors[f"{node.output[0]}/low"], tensors[f"{node.output[0]}/high"] = low, high
            nodes.append(helper.make_node("Clip", [source.input[0], *(f"{node.output[0]}/{end}" for end in ("low", "high"))],
                                          [node.output[0]]))
            continue
        if scale.ndim == 1 and scale.size > 1:
            scale, zero = (np.reshape(each, [-1 if i == axis else 1 for i in range(of.ndim)]) for each in (scale, zero))
        if source:
            of = np.clip(np.rint(of / scale) + zero, levels.min, levels.max)
        tensors[node.output[0]] = ((of.astype(np.float32) - zero.astype(np.float32)) * scale).astype(np.float32)
    read = {name for node in nodes for name in node.input}
    kept = [tensor for tensor in graph.initializer if tensor.name in read]
    made = onnx.ModelProto()
    made.CopyFrom(model)
    del made.graph.node[:], made.graph.initializer[:]
    made.graph.node.extend(nodes)
    made.graph.initializer.extend(kept)
    made.graph.initializer.extend(numpy_helper.from_array(np.asarray(array, np.float32), name)
                                  for name, array in tensors.items())
    return made

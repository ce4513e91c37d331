// SPDX-License-Identifier: MIT
// An ONNX graph of fp32 in the arithmetic of 16 or 8 bits.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <string>

#include "models/model.h"

namespace weft::models {

inline constexpr std::int64_t kInt8Opset = 13;  // the first with a scale for each filter

// Tensors and constants become those of 16 bits, and the input and the output are cast.
void make_half(onnx::GraphProto& graph);

// Puts QuantizeLinear and DequantizeLinear in front of every Conv and Gemm, and behind its tensors,
// which become bytes, with a scale for each filter, and a bias of 32 bits. `ranges` has the values
// that such a node reads. Throws data for a filter that holds what is not a number.
void make_int8(onnx::GraphProto& graph, const std::map<std::string, ValueRange>& ranges);

}  // namespace weft::models

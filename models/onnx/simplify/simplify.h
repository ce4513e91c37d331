// SPDX-License-Identifier: MIT
// Graphs of many exporters as the few operators that are read as layers.
//
// The result computes what the file computes. What Weft has no layer for stays as it is, so that
// the reader of the graph refuses it by its name.
#pragma once

#include <onnx/onnx_pb.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace weft::models {

// The part of a file that leads to the output of this index, simplified:
//
// - Nodes are in order, and each of them leads to the output.
// - What depends on constants, or on the shape of a value, is computed. The number of images may be
//   open. `image`, channels first, tells extents that the file leaves open.
// - Tensors of levels are the numbers that these stand for, and values between QuantizeLinear and
//   DequantizeLinear are clipped, where `input_bounds` and operators do not tell that they need
//   not be.
// - 16-bit floats are 32-bit floats.
// - Nodes that do nothing are gone, and a Transpose is moved into the weights behind it.
// - Nodes that together compute an activation or a normalisation become its operator.
// - Padding is written in numbers, the same on both sides, and a Pad becomes a part of the layer
//   behind it.
// - Factors, sums and normalisations of channels become a part of the layer in front of them or
//   behind them.
//
// Throws Error{data}, prefixed by `where`, for a graph that is none. Takes time and memory in
// proportion to the file.
onnx::ModelProto simplified(const onnx::ModelProto& file, int output, const std::string& where,
                            const std::optional<std::array<std::int64_t, 3>>& image,
                            const std::optional<std::pair<double, double>>& input_bounds = {});

}  // namespace weft::models

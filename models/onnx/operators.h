// SPDX-License-Identifier: MIT
// ONNX operators in the words of a network, with their tensors. layers/rows.cpp has
// the rows.
#pragma once

#include <onnx/onnx_pb.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "layers/registry/registry.h"
#include "models/onnx/graph.h"

namespace weft::models {

// A tensor of a layer, where it is found in the file.
struct OnnxTensor {
  const onnx::TensorProto* tensor = nullptr;
  bool transposed = false;         // the file has (in, out) for Weft's (out, in)
  std::vector<float> values = {};  // where no tensor of the file has them
  // The image, channels first, of a weight whose columns are (height, width, channels).
  std::optional<std::array<std::int64_t, 3>> pixels = {};
  // As in layers::OnnxSource.
  const onnx::TensorProto* variance = nullptr;
  double epsilon = 0;
};

// What a node says.
struct OnnxLayer {
  const onnx::NodeProto* node = nullptr;
  const layers::LayerRow* row = nullptr;  // null for a sum
  layers::OnnxWords said = {};
  std::vector<OnnxTensor> tensors = {};  // the layer's parameters, then its buffers

  bool is_bias() const { return row == nullptr; }  // an Add of one tensor
};

// Does this domain name ONNX's own operators?
bool is_onnx_domain(std::string_view domain);

// Is there a layer for this operator, or is it Constant or Identity?
bool is_operator_known(const onnx::NodeProto& node);

// Throws Error{data} naming the node when one of its attributes or tensors is none of a layer.
OnnxLayer onnx_layer(const onnx::NodeProto& node, const OnnxGraph& graph);

}  // namespace weft::models

// SPDX-License-Identifier: MIT
// ONNX operators in the words of a network (models/network_text.h), with their tensors.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

#include "models/onnx/graph.h"

namespace weft::models {

// A tensor of a layer, where it is found in the file.
struct OnnxTensor {
  const onnx::TensorProto* tensor = nullptr;
  bool transposed = false;  // the file has (in, out) for Weft's (out, in)
  float added = 0;          // to each value
};

// What a node says.
struct OnnxLayer {
  const onnx::NodeProto* node = nullptr;
  std::string words = {};                // "conv 6 5x5 pad 2"; empty for a Softmax
  std::vector<OnnxTensor> tensors = {};  // the layer's parameters, then its buffers
  std::int64_t features = 0;             // that come out, where the node says it
  bool takes_bias = false;               // a product: an Add of a tensor behind it is its bias
  bool is_bias = false;                  // such an Add; its tensor is the only one of `tensors`
  bool is_softmax = false;
};

// Is there a layer for this operator, or is it Constant or Identity?
bool is_operator_known(const onnx::NodeProto& node);

// Throws Error{data} naming the node when one of its attributes or tensors is none of a layer.
OnnxLayer onnx_layer(const onnx::NodeProto& node, const OnnxGraph& graph);

}  // namespace weft::models

// SPDX-License-Identifier: MIT
// An ONNX graph as the text of a network.
#pragma once

#include <string>
#include <vector>

#include "models/onnx/operators.h"

namespace weft::models {

struct OnnxText {
  std::string definition;                     // for models/network_text.h
  std::vector<const onnx::NodeProto*> nodes;  // that each line of it stands for
  std::vector<OnnxLayer> layers;              // those with tensors, in the order of the text
  std::int64_t classes = 0;                   // that the last layer gives; 0: no layer says it
  bool softmax_dropped = false;
};

// Throws Error{data} naming the node that is none of a network's layers, or where two ways through
// the graph are no residual block.
OnnxText onnx_text(const OnnxGraph& graph);

}  // namespace weft::models

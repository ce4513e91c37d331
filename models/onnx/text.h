// SPDX-License-Identifier: MIT
// An ONNX graph as the text of a network.
#pragma once

#include <string>
#include <vector>

#include "models/onnx/input.h"
#include "models/onnx/operators.h"
#include "models/onnx/output.h"

namespace weft::models {

struct OnnxText {
  std::string definition;                     // for models/networks/network_text.h
  std::vector<const onnx::NodeProto*> nodes;  // that each line of it stands for
  std::vector<OnnxLayer> layers;              // those with tensors, in the order of the text
  std::int64_t classes = 0;                   // that the last layer with features has; 0: none has
  std::int64_t row = 0;  // values of each image that a Reshape behind it asks for; 0: none does
  bool begins_with_block = false;  // a residual block begins in front of the first of `layers`
};

// The layers behind what onnx_input() took and in front of the ending. Throws Error{data} naming
// the node that is none of a network's layers, or where two ways through the graph are no residual
// block.
OnnxText onnx_text(const OnnxGraph& graph, const OnnxInput& input, const OnnxEnding& ending);

}  // namespace weft::models

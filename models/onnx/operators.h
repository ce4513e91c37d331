// SPDX-License-Identifier: MIT
// ONNX operators in the words of a network (models/network_text.h), with their tensors.
#pragma once

#include <onnx/onnx_pb.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "models/onnx/graph.h"

namespace weft::models {

// A tensor of a layer, where it is found in the file.
struct OnnxTensor {
  const onnx::TensorProto* tensor = nullptr;
  bool transposed = false;         // the file has (in, out) for Weft's (out, in)
  std::vector<float> values = {};  // where no tensor of the file has them
  // The image, channels first, of a weight whose columns are (height, width, channels).
  std::optional<std::array<std::int64_t, 3>> pixels = {};
  // The variance of a batch normalisation whose epsilon is not Weft's. The weight takes the factor
  // between the two roots of variance + epsilon.
  const onnx::TensorProto* variance = nullptr;
};

inline constexpr float kBatchNormEpsilon = 1e-5f;  // of Weft's layer, and the default of ONNX

// What a node says.
struct OnnxLayer {
  const onnx::NodeProto* node = nullptr;
  std::string words = {};                // "conv 6 5x5 pad 2"
  std::vector<OnnxTensor> tensors = {};  // the layer's parameters, then its buffers
  std::int64_t features = 0;             // that come out, where the node says it
  bool takes_bias = false;               // a product: an Add of a tensor behind it is its bias
  bool is_bias = false;                  // such an Add; its tensor is the only one of `tensors`
  double epsilon = 0;                    // of a batch normalisation
};

// Does this domain name ONNX's own operators?
bool is_onnx_domain(std::string_view domain);

// Is there a layer for this operator, or is it Constant or Identity?
bool is_operator_known(const onnx::NodeProto& node);

// Throws Error{data} naming the node when one of its attributes or tensors is none of a layer.
OnnxLayer onnx_layer(const onnx::NodeProto& node, const OnnxGraph& graph);

}  // namespace weft::models

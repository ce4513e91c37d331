// SPDX-License-Identifier: MIT
// What the output of a graph means: the only place that tells logits from probabilities.
#pragma once

#include <string>

#include "engine/tensor.h"
#include "models/model.h"
#include "models/onnx/graph.h"

namespace weft::models {

// The operator at the end that makes probabilities of logits, which the network leaves out.
struct OnnxEnding {
  enum class Kind { none, softmax, log_softmax, sigmoid };
  Kind kind = Kind::none;
  std::vector<int> steps = {};  // of the graph, that are left out
};

// Looks from the output back, through what only changes the shape. Throws data naming the node for
// a softmax over another axis than that of the classes.
OnnxEnding ending_of(const OnnxGraph& graph);

struct OutputMeaning {
  Output output = Output::softmax;
  std::int64_t classes = 0;
  // Lines of a network's text behind its last layer: they make a row of (1, 1) planes, and of one
  // logit z the two logits 0 and z, whose softmax is 1 - p and p.
  std::string lines = {};
  bool is_one_logit = false;
  std::string notice = {};  // what people should know of it; empty for logits
};

// The meaning of an output whose ending gets `values` for each image. One value is a class of two
// where a sigmoid follows, or where `names_two` says so. Throws data, prefixed by `where`, for what
// is no vector of classes.
OutputMeaning meaning_of(OnnxEnding::Kind ending, const Shape& values, bool names_two,
                         const std::string& where);

}  // namespace weft::models

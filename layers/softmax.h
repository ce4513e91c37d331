// SPDX-License-Identifier: MIT
// Softmax over the last axis: y_c = exp(x_c) / sum of exp(x). For probabilities as an output; to
// train a classifier, use softmax_cross_entropy.h on the logits.
#pragma once

#include "layers/layer.h"

namespace weft::layers {

class Softmax final : public Layer {
 public:
  explicit Softmax(std::string name) : Layer(std::move(name)) {}

  std::string_view type() const override { return "Softmax"; }
  std::string describe() const override { return "Softmax"; }
  OnnxNode onnx(const Shape&) const override { return {"Softmax"}; }
  double forward_flops(const Shape& input) const override;

 protected:
  Shape do_output_shape(const Shape& input) const override;
  void do_forward(const ForwardCall& call) const override;
  void do_backward(const BackwardCall& call) const override;
};

}  // namespace weft::layers

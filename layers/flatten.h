// SPDX-License-Identifier: MIT
// Flatten: (N, ...) seen as (N, features). A Plan reshapes the view and copies nothing; called
// directly with another output buffer, the layer copies.
#pragma once

#include "layers/layer.h"

namespace weft::layers {

class Flatten final : public Layer {
 public:
  explicit Flatten(std::string name) : Layer(std::move(name)) {}

  static OnnxWords from_flatten(OnnxReader& node);
  // To a row for each image: (0, -1), or (-1, features).
  static OnnxWords from_reshape(OnnxReader& node);

  std::string_view type() const override { return "Flatten"; }
  std::string describe() const override { return "Flatten"; }
  double forward_flops(const Shape&) const override { return 0; }
  OnnxNode onnx(const Shape&) const override { return {"Flatten"}; }
  LayerTraits traits() const override {
    return {.view = true, .in_place = true, .backward_reads_output = false};
  }

 protected:
  Shape do_output_shape(const Shape& input) const override;
  void do_forward(const ForwardCall& call) const override;
  void do_backward(const BackwardCall& call) const override;
};

}  // namespace weft::layers

// SPDX-License-Identifier: MIT
// Concat: the end of a block whose two ways give channels that stand behind each other; see
// residual.h for blocks.
//
//   x (N, C, H, W) or (N, C)   other: as x, with channels of its own   y: C + C' channels
#pragma once

#include "layers/registry/registry.h"

namespace weft::layers {

// y = x, then other, along the channels. Backward parts dy: dx, and LayerContext::other_gradient.
class Concat final : public Layer {
 public:
  // The channels of the two. Throws usage unless both are positive.
  Concat(std::string name, std::int64_t channels, std::int64_t other_channels);
  static LayerText read(Words& words);

  std::string_view type() const override { return "Concat"; }
  std::string describe() const override { return str("Concat(", channels_, " + ", others_, ")"); }
  double forward_flops(const Shape&) const override { return 0; }
  OnnxNode onnx(const Shape&) const override { return {"Concat", {{"axis", std::int64_t{1}}}}; }
  LayerTraits traits() const override {
    return {.backward_reads_output = false, .junction = Junction::concat};
  }
  Shape other_shape(const Shape& input) const override;

 protected:
  Shape do_output_shape(const Shape& input) const override;
  void do_forward(const ForwardCall& call) const override;
  void do_backward(const BackwardCall& call) const override;

 private:
  std::int64_t channels_, others_;
};

}  // namespace weft::layers

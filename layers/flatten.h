// SPDX-License-Identifier: MIT
// Flatten: (N, ...) seen as (N, features). A Plan reshapes the view and copies nothing; called
// directly with another output buffer, the layer copies.
#pragma once

#include "layers/layer.h"

namespace weft::layers {

class Flatten final : public Layer {
 public:
  explicit Flatten(std::string name) : Layer(std::move(name)) {}

  std::string_view type() const override { return "Flatten"; }
  std::string describe() const override { return "Flatten"; }
  double forward_flops(const Shape&) const override { return 0; }
  bool is_view() const override { return true; }
  bool in_place() const override { return true; }
  bool backward_reads_output() const override { return false; }

 protected:
  Shape do_output_shape(const Shape& input) const override;
  void do_forward(FloatView y, ConstFloatView x, Epilogue epilogue, const LayerContext& context,
                  const Stream& stream) const override;
  void do_backward(FloatView dx, ConstFloatView dy, ConstFloatView x, ConstFloatView y,
                   GradientMode parameter_mode, const LayerContext& context,
                   const Stream& stream) const override;
};

}  // namespace weft::layers

// SPDX-License-Identifier: MIT
// AvgPool2d: the mean of each window, padding counted as zeros (PyTorch's default).
//
//   x (N, C, H, W)   y (N, C, P, Q)
#pragma once

#include "layers/layer.h"
#include "layers/window.h"

namespace weft::layers {

class AvgPool2d final : public Layer {
 public:
  AvgPool2d(std::string name, const Window& window);

  std::string_view type() const override { return "AvgPool2d"; }
  std::string describe() const override;
  double forward_flops(const Shape& input) const override;
  bool backward_reads_output() const override { return false; }

 protected:
  Shape do_output_shape(const Shape& input) const override;
  void do_forward(FloatView y, ConstFloatView x, Epilogue epilogue, const LayerContext& context,
                  const Stream& stream) const override;
  void do_backward(FloatView dx, ConstFloatView dy, ConstFloatView x, ConstFloatView y,
                   GradientMode parameter_mode, const LayerContext& context,
                   const Stream& stream) const override;

 private:
  Window window_;
};

}  // namespace weft::layers

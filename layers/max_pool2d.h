// SPDX-License-Identifier: MIT
// MaxPool2d: the largest value of each window; padding is -infinity. In training the place of each
// maximum is cached as int32, so that backward needs neither x nor y.
//
//   x (N, C, H, W)   y (N, C, P, Q)
#pragma once

#include "layers/layer.h"
#include "layers/window.h"

namespace weft::layers {

class MaxPool2d final : public Layer {
 public:
  MaxPool2d(std::string name, const Window& window);

  const Window& window() const { return window_; }

  std::string_view type() const override { return "MaxPool2d"; }
  std::string describe() const override;
  std::size_t cache_bytes(const Shape& input) const override;
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

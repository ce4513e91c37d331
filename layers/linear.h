// SPDX-License-Identifier: MIT
// Linear: y = x W^T + b, with an optional ReLU in the GEMM's epilogue.
//
//   x (N, in)   W (out, in)   b (out,)   y (N, out)
//   dx = dy W   dW = dy^T x   db = column sums of dy, in the product that gives dW
#pragma once

#include "layers/layer.h"

namespace weft::layers {

class Linear final : public Layer {
 public:
  Linear(std::string name, std::int64_t in, std::int64_t out, bool bias = true);

  std::int64_t in() const { return in_; }
  std::int64_t out() const { return out_; }
  bool has_bias() const { return bias_; }

  std::string_view type() const override { return "Linear"; }
  std::string describe() const override;
  double forward_flops(const Shape& input) const override;
  bool can_fuse_relu() const override { return true; }
  bool can_mask_input_gradient() const override { return true; }
  bool forks_backward() const override { return true; }
  bool backward_reads_output() const override { return false; }

 protected:
  Shape do_output_shape(const Shape& input) const override;
  void do_forward(FloatView y, ConstFloatView x, Epilogue epilogue, const LayerContext& context,
                  const Stream& stream) const override;
  void do_backward(FloatView dx, ConstFloatView dy, ConstFloatView x, ConstFloatView y,
                   GradientMode parameter_mode, const LayerContext& context,
                   const Stream& stream) const override;

 private:
  std::int64_t in_, out_;
  bool bias_;
};

}  // namespace weft::layers

// SPDX-License-Identifier: MIT
// Linear: y = x W^T + b, with an optional ReLU in the GEMM's epilogue.
//
//   x (N, in)   W (out, in)   b (out,)   y (N, out)
//   dx = dy W   dW = dy^T x   db = column sums of dy, in the product that gives dW
#pragma once

#include "layers/registry/registry.h"

namespace weft::layers {

class Linear final : public Layer {
 public:
  Linear(std::string name, std::int64_t in, std::int64_t out, bool bias = true);

  static LayerText read(Words& words);
  static OnnxWords from_gemm(OnnxReader& node);
  static OnnxWords from_product(OnnxReader& node);  // without a bias

  std::int64_t in() const { return in_; }
  std::int64_t out() const { return out_; }
  bool has_bias() const { return bias_; }

  std::string_view type() const override { return "Linear"; }
  std::string describe() const override;
  double forward_flops(const Shape& input) const override;
  OnnxNode onnx(const Shape&) const override { return {"Gemm", {{"transB", std::int64_t{1}}}}; }
  LayerTraits traits() const override {
    return {.fuses_relu = true,
            .masks_input_gradient = true,
            .forks_backward = true,
            .backward_reads_output = false};
  }

 protected:
  Shape do_output_shape(const Shape& input) const override;
  void do_forward(const ForwardCall& call) const override;
  void do_backward(const BackwardCall& call) const override;

 private:
  std::int64_t in_, out_;
  bool bias_;
};

}  // namespace weft::layers

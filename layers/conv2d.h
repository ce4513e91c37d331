// SPDX-License-Identifier: MIT
// Conv2d: cross-correlation of NCHW images, with an optional ReLU in the epilogue.
//
//   x (N, C, H, W)   weight (O, C, kH, kW)   bias (O,)   y (N, O, P, Q)
// Formulas, forward and backward, are in kernels/conv/conv.h.
#pragma once

#include "layers/registry/registry.h"
#include "layers/window.h"

namespace weft::layers {

class Conv2d final : public Layer {
 public:
  Conv2d(std::string name, std::int64_t in_channels, std::int64_t out_channels,
         const Window& window, bool bias = true);

  static LayerText read(Words& words);
  static OnnxWords from_onnx(OnnxReader& node);

  std::int64_t in_channels() const { return in_channels_; }
  std::int64_t out_channels() const { return out_channels_; }
  const Window& window() const { return window_; }
  bool has_bias() const { return bias_; }
  // What the kernels are told for an input that output_shape() takes.
  kernels::ConvDims dims(const Shape& input) const;

  std::string_view type() const override { return "Conv2d"; }
  std::string describe() const override;
  std::size_t workspace_bytes(const Shape& input, const KernelChoice& kernels, Device device,
                              Phase phase) const override;
  double forward_flops(const Shape& input) const override;
  OnnxNode onnx(const Shape&) const override { return with_window("Conv", window_); }
  LayerTraits traits() const override {
    return {.fuses_relu = true, .masks_input_gradient = true, .backward_reads_output = false};
  }

 protected:
  Shape do_output_shape(const Shape& input) const override;
  void do_forward(const ForwardCall& call) const override;
  void do_backward(const BackwardCall& call) const override;

 private:
  std::int64_t in_channels_, out_channels_;
  Window window_;
  bool bias_;
};

}  // namespace weft::layers

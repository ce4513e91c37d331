// SPDX-License-Identifier: MIT
// GroupedConv2d: Conv2d in groups of channels, as of a depthwise convolution, or with dilation.
//
//   x (N, C, H, W)   weight (O, C / groups, kH, kW)   bias (O,)   y (N, O, P, Q)
// Formulas, forward and backward, are in kernels/conv/grouped.h.
#pragma once

#include "kernels/conv/grouped.h"
#include "layers/registry/registry.h"
#include "layers/window.h"

namespace weft::layers {

class GroupedConv2d final : public Layer {
 public:
  struct Options {
    Window window;
    std::int64_t groups = 1, dilation_h = 1, dilation_w = 1;
    bool bias = true;
  };
  // Throws usage unless the groups divide channels and filters.
  GroupedConv2d(std::string name, std::int64_t in_channels, std::int64_t out_channels,
                const Options& options);

  std::string_view type() const override { return "GroupedConv2d"; }
  std::string describe() const override;
  double forward_flops(const Shape& input) const override;
  OnnxNode onnx(const Shape&) const override;
  LayerTraits traits() const override {
    return {.fuses_relu = true, .backward_reads_output = false};
  }

 protected:
  Shape do_output_shape(const Shape& input) const override;
  void do_forward(const ForwardCall& call) const override;
  void do_backward(const BackwardCall& call) const override;

 private:
  kernels::GroupedConvDims dims(const Shape& input) const;

  std::int64_t in_channels_, out_channels_;
  Options options_;
};

}  // namespace weft::layers

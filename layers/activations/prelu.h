// SPDX-License-Identifier: MIT
// PReLU: max(x, 0) + slope min(x, 0), with a slope that is learned for each channel, for each value
// of an image or for all.
//
// He et al., "Delving Deep into Rectifiers", arXiv 1502.01852.
//
//   x (N, C, ...)   weight (C,), (C, ...) or (1,)   y (N, C, ...)
#pragma once

#include "layers/registry/registry.h"

namespace weft::layers {

class PReLU final : public Layer {
 public:
  // `slopes` is (C,), (C, H, W) for one of each value, or (1,) for one of all.
  PReLU(std::string name, const Shape& slopes);
  static LayerText read(Words& words);
  static OnnxWords from_onnx(OnnxReader& node);

  std::string_view type() const override { return "PReLU"; }
  std::string describe() const override;
  OnnxNode onnx(const Shape& input) const override;
  LayerTraits traits() const override { return {.backward_reads_output = false}; }
  bool is_by_channel() const { return slopes_.rank() == 1; }  // or has one slope of all

 protected:
  Shape do_output_shape(const Shape& input) const override;
  void do_forward(const ForwardCall& call) const override;
  void do_backward(const BackwardCall& call) const override;

 private:
  // The input as (outer, channels, inner), with a slope for each channel.
  struct Extents {
    std::int64_t outer, channels, inner;
  };
  Extents extents(const Shape& input) const;

  Shape slopes_;
};

}  // namespace weft::layers

// SPDX-License-Identifier: MIT
// PReLU: max(x, 0) + slope min(x, 0), with a slope that is learned for each channel or for all.
//
// He et al., "Delving Deep into Rectifiers", arXiv 1502.01852.
//
//   x (N, C, ...)   weight (C,) or (1,)   y (N, C, ...)
#pragma once

#include "layers/registry/registry.h"

namespace weft::layers {

class PReLU final : public Layer {
 public:
  // `slopes` is the number of channels, or 1 for one slope of all.
  PReLU(std::string name, std::int64_t slopes);
  static LayerText read(Words& words);
  static OnnxWords from_onnx(OnnxReader& node);

  std::string_view type() const override { return "PReLU"; }
  std::string describe() const override { return str("PReLU(", slopes_, ")"); }
  OnnxNode onnx(const Shape& input) const override;
  LayerTraits traits() const override { return {.backward_reads_output = false}; }

 protected:
  Shape do_output_shape(const Shape& input) const override;
  void do_forward(const ForwardCall& call) const override;
  void do_backward(const BackwardCall& call) const override;

 private:
  // (outer, slopes, inner) of an input.
  struct Extents {
    std::int64_t outer, inner;
  };
  Extents extents(const Shape& input) const;

  std::int64_t slopes_;
};

}  // namespace weft::layers

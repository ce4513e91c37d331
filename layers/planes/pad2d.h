// SPDX-License-Identifier: MIT
// Pad2d: rows and columns around each plane of an image, of zeros, of the mirrored plane or of the
// values at its edge.
//
//   x (N, C, H, W)   y (N, C, top + H + bottom, left + W + right)
// Formulas, forward and backward, are in kernels/planes/pad.h.
#pragma once

#include "kernels/planes/pad.h"
#include "layers/registry/registry.h"

namespace weft::layers {

class Pad2d final : public Layer {
 public:
  struct Options {
    std::int64_t top = 0, left = 0, bottom = 0, right = 0;
    kernels::PadMode mode = kernels::PadMode::zero;
  };
  // Throws usage for a pad below 0.
  Pad2d(std::string name, const Options& options);
  static LayerText read(Words& words);
  static OnnxWords from_onnx(OnnxReader& node);

  std::string_view type() const override { return "Pad2d"; }
  std::string describe() const override;
  double forward_flops(const Shape&) const override { return 0; }
  OnnxNode onnx(const Shape&) const override;
  LayerTraits traits() const override { return {.backward_reads_output = false}; }

 protected:
  Shape do_output_shape(const Shape& input) const override;
  void do_forward(const ForwardCall& call) const override;
  void do_backward(const BackwardCall& call) const override;

 private:
  kernels::PadDims dims(const Shape& input) const;

  Options options_;
};

}  // namespace weft::layers

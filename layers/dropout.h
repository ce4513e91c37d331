// SPDX-License-Identifier: MIT
// Dropout: in training y = keep ? x / (1 - p) : 0, in inference y = x.
//
// The kept elements follow from (seed, layer, step, element) alone; see kernels/dropout/dropout.h.
// No mask is stored, and forward and backward may run in place.
#pragma once

#include "layers/registry/registry.h"

namespace weft::layers {

class Dropout final : public Layer {
 public:
  Dropout(std::string name, float p);  // 0 <= p < 1: the share that is dropped

  static LayerText read(Words& words);
  static OnnxWords from_onnx(OnnxReader& node);

  std::string_view type() const override { return "Dropout"; }
  std::string describe() const override { return str("Dropout(", p_, ")"); }
  OnnxNode onnx(const Shape&) const override { return {}; }
  LayerTraits traits() const override {
    return {.in_place = true, .backward_reads_output = false, .identity_in_inference = true};
  }

 protected:
  Shape do_output_shape(const Shape& input) const override { return input; }
  void do_forward(const ForwardCall& call) const override;
  void do_backward(const BackwardCall& call) const override;

 private:
  void apply(float* y, ConstFloatView x, const LayerContext& context, const Stream& stream) const;

  float p_;
};

}  // namespace weft::layers

// SPDX-License-Identifier: MIT
// Dropout: in training y = keep ? x / (1 - p) : 0, in inference y = x.
//
// Which elements are kept follows from (seed, layer, step, element) alone; see
// kernels/dropout/dropout.h. No mask is stored, and forward and backward may run in place.
#pragma once

#include "layers/layer.h"

namespace weft::layers {

class Dropout final : public Layer {
 public:
  Dropout(std::string name, float p);  // 0 <= p < 1: the share that is dropped

  std::string_view type() const override { return "Dropout"; }
  std::string describe() const override { return str("Dropout(", p_, ")"); }
  bool in_place() const override { return true; }
  bool backward_reads_output() const override { return false; }
  bool is_identity_in_inference() const override { return true; }

 protected:
  Shape do_output_shape(const Shape& input) const override { return input; }
  void do_forward(FloatView y, ConstFloatView x, Epilogue epilogue, const LayerContext& context,
                  const Stream& stream) const override;
  void do_backward(FloatView dx, ConstFloatView dy, ConstFloatView x, ConstFloatView y,
                   GradientMode parameter_mode, const LayerContext& context,
                   const Stream& stream) const override;

 private:
  void apply(float* y, ConstFloatView x, const LayerContext& context, const Stream& stream) const;

  float p_;
};

}  // namespace weft::layers

// SPDX-License-Identifier: MIT
// ActivationLayer: what ReLU, Sigmoid and Tanh share. Any shape; backward needs y alone, so it may
// run in place. Formulas are in kernels/activation/activation.h.
#pragma once

#include "kernels/activation/activation.h"
#include "layers/layer.h"

namespace weft::layers {

class ActivationLayer : public Layer {
 public:
  std::string describe() const override { return std::string(type()); }
  bool in_place() const override { return true; }

 protected:
  ActivationLayer(std::string name, kernels::Activation kind)
      : Layer(std::move(name)), kind_(kind) {}

  Shape do_output_shape(const Shape& input) const override { return input; }
  void do_forward(FloatView y, ConstFloatView x, Epilogue epilogue, const LayerContext& context,
                  const Stream& stream) const override;
  void do_backward(FloatView dx, ConstFloatView dy, ConstFloatView x, ConstFloatView y,
                   GradientMode parameter_mode, const LayerContext& context,
                   const Stream& stream) const override;

 private:
  kernels::Activation kind_;
};

}  // namespace weft::layers

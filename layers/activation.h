// SPDX-License-Identifier: MIT
// ReLU, Sigmoid and Tanh. Any shape; backward needs y alone, so they may run in place. Formulas are
// in kernels/activation/activation.h.
#pragma once

#include "kernels/activation/activation.h"
#include "layers/layer.h"

namespace weft::layers {

class ActivationLayer : public Layer {
 public:
  std::string_view type() const override { return type_; }
  std::string describe() const override { return type_; }
  OnnxNode onnx(const Shape&) const override { return {onnx_}; }
  LayerTraits traits() const override {
    return {.in_place = true, .relu = kind_ == kernels::Activation::relu};
  }

 protected:
  ActivationLayer(std::string name, const char* type, const char* onnx, kernels::Activation kind)
      : Layer(std::move(name)), type_(type), onnx_(onnx), kind_(kind) {}

  Shape do_output_shape(const Shape& input) const override { return input; }
  void do_forward(const ForwardCall& call) const override;
  void do_backward(const BackwardCall& call) const override;

 private:
  const char *type_, *onnx_;
  kernels::Activation kind_;
};

// Behind Linear and Conv2d a Plan folds it into their epilogue.
struct ReLU final : ActivationLayer {
  explicit ReLU(std::string name)
      : ActivationLayer(std::move(name), "ReLU", "Relu", kernels::Activation::relu) {}
};

struct Sigmoid final : ActivationLayer {
  explicit Sigmoid(std::string name)
      : ActivationLayer(std::move(name), "Sigmoid", "Sigmoid", kernels::Activation::sigmoid) {}
};

struct Tanh final : ActivationLayer {
  explicit Tanh(std::string name)
      : ActivationLayer(std::move(name), "Tanh", "Tanh", kernels::Activation::tanh) {}
};

}  // namespace weft::layers

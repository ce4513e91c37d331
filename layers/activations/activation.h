// SPDX-License-Identifier: MIT
// Functions of each number alone. Any shape. Formulas are in kernels/activation/activation.h.
// Where backward needs y alone, a Plan may run the layer in place.
#pragma once

#include "kernels/activation/activation.h"
#include "layers/registry/registry.h"

namespace weft::layers {

class ActivationLayer : public Layer {
 public:
  std::string_view type() const override { return type_; }
  std::string describe() const override { return type_; }
  OnnxNode onnx(const Shape&) const override { return {type_}; }
  LayerTraits traits() const override {
    const bool reads_input = kernels::backward_reads_input(function_.kind);
    return {.in_place = !reads_input,
            .backward_reads_output = !reads_input,
            .relu = function_.kind == kernels::Activation::relu};
  }
  const kernels::ActivationFunction& function() const { return function_; }

 protected:
  ActivationLayer(std::string name, const char* type, const kernels::ActivationFunction& function)
      : Layer(std::move(name)), type_(type), function_(function) {}

  Shape do_output_shape(const Shape& input) const override { return input; }
  void do_forward(const ForwardCall& call) const override;
  void do_backward(const BackwardCall& call) const override;

 private:
  const char* type_;
  kernels::ActivationFunction function_;
};

// Behind Linear and Conv2d a Plan folds it into their epilogue.
struct ReLU final : ActivationLayer {
  explicit ReLU(std::string name)
      : ActivationLayer(std::move(name), "ReLU", kernels::Activation::relu) {}
  OnnxNode onnx(const Shape&) const override { return {"Relu"}; }
};

struct Sigmoid final : ActivationLayer {
  explicit Sigmoid(std::string name)
      : ActivationLayer(std::move(name), "Sigmoid", kernels::Activation::sigmoid) {}
};

struct Tanh final : ActivationLayer {
  explicit Tanh(std::string name)
      : ActivationLayer(std::move(name), "Tanh", kernels::Activation::tanh) {}
};

// The slope below 0 is not negative.
struct LeakyReLU final : ActivationLayer {
  static constexpr float kSlope = 0.01f;  // PyTorch's and ONNX's
  explicit LeakyReLU(std::string name, float slope = kSlope)
      : ActivationLayer(std::move(name), "LeakyReLU", {kernels::Activation::leaky_relu, slope}) {}
  static LayerText read(Words& words);
  static OnnxWords from_onnx(OnnxReader& node);
  std::string describe() const override;
  OnnxNode onnx(const Shape&) const override {
    return {"LeakyRelu", {{"alpha", function().alpha}}};
  }
};

// alpha is not negative.
struct ELU final : ActivationLayer {
  explicit ELU(std::string name, float alpha = 1)
      : ActivationLayer(std::move(name), "ELU", {kernels::Activation::elu, alpha}) {}
  static LayerText read(Words& words);
  static OnnxWords from_onnx(OnnxReader& node);
  std::string describe() const override;
  OnnxNode onnx(const Shape&) const override { return {"Elu", {{"alpha", function().alpha}}}; }
};

// x sigmoid(x), also called swish.
struct SiLU final : ActivationLayer {
  explicit SiLU(std::string name)
      : ActivationLayer(std::move(name), "SiLU", kernels::Activation::silu) {}
  static OnnxWords from_onnx(OnnxReader& node);
  OnnxNode onnx(const Shape&) const override;  // opset 17 has no operator for it
};

// By the normal distribution itself, or by tanh.
struct GELU final : ActivationLayer {
  explicit GELU(std::string name, bool by_tanh = false)
      : ActivationLayer(std::move(name), "GELU",
                        by_tanh ? kernels::Activation::gelu_tanh : kernels::Activation::gelu) {}
  static LayerText read(Words& words);
  static OnnxWords from_onnx(OnnxReader& node);
  bool by_tanh() const { return function().kind == kernels::Activation::gelu_tanh; }
  std::string describe() const override { return by_tanh() ? "GELU(tanh)" : "GELU"; }
  OnnxNode onnx(const Shape&) const override;  // opset 17 has no operator for it
};

struct HardSwish final : ActivationLayer {
  explicit HardSwish(std::string name)
      : ActivationLayer(std::move(name), "HardSwish", kernels::Activation::hard_swish) {}
};

// slope x + 1/2 within 0 and 1; PyTorch's slope is 1/6, and Keras' 1/5.
struct HardSigmoid final : ActivationLayer {
  static constexpr float kSlope = 1.0f / 6, kShift = 0.5f;
  explicit HardSigmoid(std::string name, float slope = kSlope, float shift = kShift)
      : ActivationLayer(std::move(name), "HardSigmoid",
                        {kernels::Activation::hard_sigmoid, slope, shift}) {}
  static LayerText read(Words& words);
  static OnnxWords from_onnx(OnnxReader& node);
  std::string describe() const override;
  OnnxNode onnx(const Shape&) const override {
    return {"HardSigmoid", {{"alpha", function().alpha}, {"beta", function().beta}}};
  }
};

// x within two bounds: PyTorch's Hardtanh.
struct Clip final : ActivationLayer {
  Clip(std::string name, float low, float high)
      : ActivationLayer(std::move(name), "Clip", {kernels::Activation::clip, low, high}) {}
  static LayerText read(Words& words);
  static OnnxWords from_onnx(OnnxReader& node);  // ReLU6 where the bounds are 0 and 6
  std::string describe() const override;
  OnnxNode onnx(const Shape&) const override;
};

struct ReLU6 final : ActivationLayer {
  explicit ReLU6(std::string name)
      : ActivationLayer(std::move(name), "ReLU6", {kernels::Activation::clip, 0, 6}) {}
  OnnxNode onnx(const Shape&) const override;
};

}  // namespace weft::layers

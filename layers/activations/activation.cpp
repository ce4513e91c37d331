// SPDX-License-Identifier: MIT
#include "layers/activations/activation.h"

#include <cmath>

#include "engine/text.h"

namespace weft::layers {

namespace {

constexpr float kMost = 1e6f;  // larger numbers are mistakes

float slope_of(Words& words, const char* what, float otherwise) {
  return words.token().ends_line() ? otherwise : words.real(what, 0, kMost);
}

// An attribute of a file. Throws data unless it is a number from `least` to below kMost.
float checked(OnnxReader& node, const char* attribute, float otherwise, float least = 0) {
  const float value = node.real(attribute, otherwise);
  if (!(value >= least && value < kMost)) {
    node.fail(str("expected ", attribute, " from ", least, " to below ", kMost, ", found ", value));
  }
  return value;
}

OnnxNode clip_node(float low, float high) {
  return {.type = "Clip",
          .inputs = {OnnxInput::data(), OnnxInput::of_number(low), OnnxInput::of_number(high)}};
}

// Appends a node of two inputs, and gives its index.
int add_node(std::vector<OnnxNode>& nodes, const char* type, const OnnxInput& a,
             const OnnxInput& b) {
  nodes.push_back({.type = type, .inputs = {a, b}});
  return static_cast<int>(nodes.size()) - 1;
}

}  // namespace

void ActivationLayer::do_forward(const ForwardCall& call) const {
  kernels::activation_forward(call.y.data, call.x.data, call.x.elements(), function_, call.stream);
}

void ActivationLayer::do_backward(const BackwardCall& call) const {
  if (call.dx.data == nullptr) return;
  const bool reads_input = kernels::backward_reads_input(function_.kind);
  kernels::activation_backward(call.dx.data, call.dy.data, reads_input ? call.x.data : call.y.data,
                               call.y.elements(), function_, GradientMode::overwrite, call.stream);
}

LayerText LeakyReLU::read(Words& words) {
  const float slope = slope_of(words, "a slope from 0", kSlope);
  return {[=](const LayerSite& site) { return std::make_unique<LeakyReLU>(site.name, slope); }};
}

OnnxWords LeakyReLU::from_onnx(OnnxReader& node) {
  return {.words = "leaky_relu " + number_text(checked(node, "alpha", kSlope))};
}

std::string LeakyReLU::describe() const {
  return str("LeakyReLU(", number_text(function().alpha), ")");
}

LayerText ELU::read(Words& words) {
  const float alpha = slope_of(words, "a number from 0", 1);
  return {[=](const LayerSite& site) { return std::make_unique<ELU>(site.name, alpha); }};
}

OnnxWords ELU::from_onnx(OnnxReader& node) {
  return {.words = "elu " + number_text(checked(node, "alpha", 1))};
}

std::string ELU::describe() const {
  return str("ELU(", number_text(function().alpha), ")");
}

OnnxWords SiLU::from_onnx(OnnxReader& node) {
  if (const float alpha = node.real("alpha", 1); alpha != 1) {
    node.fail(str("expected alpha 1, found ", alpha));
  }
  return {.words = "silu"};
}

OnnxNode SiLU::onnx(const Shape&) const {
  return {.type = "Mul",
          .inputs = {OnnxInput::data(), OnnxInput::of_node(0)},
          .before = {{.type = "Sigmoid"}}};
}

LayerText GELU::read(Words& words) {
  const bool by_tanh = words.accept("tanh");
  return {[=](const LayerSite& site) { return std::make_unique<GELU>(site.name, by_tanh); }};
}

OnnxWords GELU::from_onnx(OnnxReader& node) {
  const std::string approximate = node.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh") {
    node.fail(str("expected approximate none or tanh, found ", in_quotes(approximate)));
  }
  return {.words = approximate == "tanh" ? "gelu tanh" : "gelu"};
}

// As PyTorch writes it: x (1 + erf(x / sqrt(2))) / 2, or the same with tanh.
OnnxNode GELU::onnx(const Shape&) const {
  const auto x = OnnxInput::data();
  const auto number = [](double value) { return OnnxInput::of_number(static_cast<float>(value)); };
  const auto node = [](int index) { return OnnxInput::of_node(index); };
  std::vector<OnnxNode> before;
  if (by_tanh()) {
    const int square = add_node(before, "Mul", x, x);
    const int part = add_node(before, "Mul", node(square), number(0.044715));
    const int sum = add_node(before, "Add", node(part), number(1));
    const int cubic = add_node(before, "Mul", node(sum), x);
    add_node(before, "Mul", node(cubic), number(std::sqrt(2 / M_PI)));
  } else {
    add_node(before, "Div", x, number(std::sqrt(2.0)));
  }
  const int scaled = static_cast<int>(before.size()) - 1;
  before.push_back({.type = by_tanh() ? "Tanh" : "Erf", .inputs = {node(scaled)}});
  const int sum = add_node(before, "Add", node(scaled + 1), number(1));
  const int twice = add_node(before, "Mul", node(sum), x);
  return {.type = "Mul", .inputs = {node(twice), number(0.5)}, .before = std::move(before)};
}

LayerText HardSigmoid::read(Words& words) {
  float slope = kSlope, shift = kShift;
  if (!words.token().ends_line()) {
    slope = words.real("a slope above 0", std::nextafter(0.0f, 1.0f), kMost);
    shift = words.real("the value at 0", -kMost, kMost);
  }
  return {[=](const LayerSite& site) {
    return std::make_unique<HardSigmoid>(site.name, slope, shift);
  }};
}

OnnxWords HardSigmoid::from_onnx(OnnxReader& node) {
  const float slope = checked(node, "alpha", 0.2f, std::nextafter(0.0f, 1.0f));
  const float shift = checked(node, "beta", 0.5f, -kMost);
  return {.words = str("hard_sigmoid ", number_text(slope), " ", number_text(shift))};
}

std::string HardSigmoid::describe() const {
  return str("HardSigmoid(", number_text(function().alpha), ", ", number_text(function().beta),
             ")");
}

LayerText Clip::read(Words& words) {
  const float low = words.real("the lower bound", -kMost, kMost);
  const float high = words.real("an upper bound above it", std::nextafter(low, kMost), kMost);
  return {[=](const LayerSite& site) { return std::make_unique<Clip>(site.name, low, high); }};
}

OnnxWords Clip::from_onnx(OnnxReader& node) {
  const float low = node.real("min", -INFINITY), high = node.real("max", INFINITY);
  if (!(low >= -kMost && low < high && high < kMost)) {
    node.fail(str("expected two bounds, the first below the second, found ", low, " and ", high));
  }
  if (low == 0 && high == 6) return {.words = "relu6"};
  return {.words = str("clip ", number_text(low), " ", number_text(high))};
}

std::string Clip::describe() const {
  return str("Clip(", number_text(function().alpha), ", ", number_text(function().beta), ")");
}

OnnxNode Clip::onnx(const Shape&) const {
  return clip_node(function().alpha, function().beta);
}

OnnxNode ReLU6::onnx(const Shape&) const {
  return clip_node(0, 6);
}

}  // namespace weft::layers

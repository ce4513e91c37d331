// SPDX-License-Identifier: MIT
#include "layers/activations/prelu.h"

#include "kernels/activation/activation.h"

namespace weft::layers {

namespace {

constexpr float kInitialSlope = 0.25f;  // PyTorch's

std::vector<ParameterSpec> slopes_of(const std::string& name, std::int64_t slopes) {
  if (slopes < 1) {
    throw Error(ErrorKind::usage, str(name, ": PReLU expects at least 1 slope, found ", slopes));
  }
  return {{.name = "weight", .shape = {slopes}, .init_center = kInitialSlope}};
}

}  // namespace

PReLU::PReLU(std::string name, std::int64_t slopes)
    : Layer(name, slopes_of(name, slopes)), slopes_(slopes) {}

LayerText PReLU::read(Words& words) {
  const bool shared = words.accept("shared");
  return {[=](const LayerSite& site) {
    return std::make_unique<PReLU>(site.name, shared ? 1 : site.input[1]);
  }};
}

OnnxWords PReLU::from_onnx(OnnxReader& node) {
  const std::int64_t slopes = node.extents(1, 1)[0];
  return {.words = slopes == 1 ? "prelu shared" : "prelu", .tensors = {{1}}};
}

// The slopes of an image need extents of 1 behind the channels.
OnnxNode PReLU::onnx(const Shape& input) const {
  if (slopes_ == 1 || input.rank() == 2) return {"PRelu"};
  std::vector<std::int64_t> axes;
  for (int i = 2; i < input.rank(); ++i) axes.push_back(i - 1);
  return {.type = "PRelu",
          .inputs = {OnnxInput::data(), OnnxInput::of_node(0)},
          .before = {{.type = "Unsqueeze",
                      .inputs = {OnnxInput::tensor("weight"), OnnxInput::of_numbers(axes)}}}};
}

Shape PReLU::do_output_shape(const Shape& input) const {
  if (slopes_ != 1 && (input.rank() < 2 || input[1] != slopes_)) {
    reject_input(str("(N, ", slopes_, ", ...)"), input);
  }
  return input;
}

PReLU::Extents PReLU::extents(const Shape& input) const {
  if (slopes_ == 1) return {1, input.elements()};
  std::int64_t inner = 1;
  for (int i = 2; i < input.rank(); ++i) inner *= input[i];
  return {input[0], inner};
}

void PReLU::do_forward(const ForwardCall& call) const {
  const auto [outer, inner] = extents(call.x.shape);
  kernels::prelu_forward(call.y.data, call.x.data, call.context.parameters[0].data, outer, slopes_,
                         inner, call.stream);
}

void PReLU::do_backward(const BackwardCall& call) const {
  const auto [outer, inner] = extents(call.x.shape);
  kernels::prelu_backward(call.dx.data, call.context.gradients[0].data, call.dy.data, call.x.data,
                          call.context.parameters[0].data, outer, slopes_, inner,
                          call.parameter_mode, call.stream);
}

}  // namespace weft::layers

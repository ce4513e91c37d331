// SPDX-License-Identifier: MIT
#include "layers/activations/prelu.h"

#include <algorithm>

#include "kernels/activation/activation.h"

namespace weft::layers {

namespace {

constexpr float kInitialSlope = 0.25f;  // PyTorch's

std::vector<ParameterSpec> slopes_of(const std::string& name, const Shape& slopes) {
  if ((slopes.rank() != 1 && slopes.rank() != 3) || slopes.elements() < 1) {
    throw Error(
        ErrorKind::usage,
        str(name, ": PReLU expects slopes (C,), (C, H, W) or (1,), found ", to_string(slopes)));
  }
  return {{.name = "weight", .shape = slopes, .init_center = kInitialSlope}};
}

}  // namespace

PReLU::PReLU(std::string name, const Shape& slopes)
    : Layer(name, slopes_of(name, slopes)), slopes_(slopes) {}

std::string PReLU::describe() const {
  return str("PReLU", is_by_channel() ? str("(", slopes_[0], ")") : to_string(slopes_));
}

LayerText PReLU::read(Words& words) {
  const bool shared = words.accept("shared"), each = !shared && words.accept("each_value");
  return {[=](const LayerSite& site) {
    const bool is_image = site.input.rank() == 4;
    const Shape slopes = shared             ? Shape{1}
                         : each && is_image ? Shape{site.input.extents().subspan(1)}
                                            : Shape{site.input[1]};
    return std::make_unique<PReLU>(site.name, slopes);
  }};
}

OnnxWords PReLU::from_onnx(OnnxReader& node) {
  if (node.rank(1) == 3) return {.words = "prelu each_value", .tensors = {{1}}};
  const std::int64_t slopes = node.extents(1, 1)[0];
  return {.words = slopes == 1 ? "prelu shared" : "prelu", .tensors = {{1}}};
}

// The slopes of an image need extents of 1 behind the channels.
OnnxNode PReLU::onnx(const Shape& input) const {
  if (!is_by_channel() || slopes_[0] == 1 || input.rank() == 2) return {"PRelu"};
  std::vector<std::int64_t> axes;
  for (int i = 2; i < input.rank(); ++i) axes.push_back(i - 1);
  return {.type = "PRelu",
          .inputs = {OnnxInput::data(), OnnxInput::of_node(0)},
          .before = {{.type = "Unsqueeze",
                      .inputs = {OnnxInput::tensor("weight"), OnnxInput::of_numbers(axes)}}}};
}

Shape PReLU::do_output_shape(const Shape& input) const {
  if (!is_by_channel()) {
    if (input.rank() != 4 || !std::ranges::equal(input.extents().subspan(1), slopes_.extents())) {
      reject_input(str("(N, ", slopes_[0], ", ", slopes_[1], ", ", slopes_[2], ")"), input);
    }
  } else if (slopes_[0] != 1 && (input.rank() < 2 || input[1] != slopes_[0])) {
    reject_input(str("(N, ", slopes_[0], ", ...)"), input);
  }
  return input;
}

PReLU::Extents PReLU::extents(const Shape& input) const {
  if (!is_by_channel()) return {input[0], slopes_.elements(), 1};
  if (slopes_[0] == 1) return {1, 1, input.elements()};
  std::int64_t inner = 1;
  for (int i = 2; i < input.rank(); ++i) inner *= input[i];
  return {input[0], slopes_[0], inner};
}

void PReLU::do_forward(const ForwardCall& call) const {
  const auto [outer, channels, inner] = extents(call.x.shape);
  kernels::prelu_forward(call.y.data, call.x.data, call.context.parameters[0].data, outer, channels,
                         inner, call.stream);
}

void PReLU::do_backward(const BackwardCall& call) const {
  const auto [outer, channels, inner] = extents(call.x.shape);
  kernels::prelu_backward(call.dx.data, call.context.gradients[0].data, call.dy.data, call.x.data,
                          call.context.parameters[0].data, outer, channels, inner,
                          call.parameter_mode, call.stream);
}

}  // namespace weft::layers

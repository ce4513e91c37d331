// SPDX-License-Identifier: MIT
#include "layers/network/concat.h"

#include "kernels/planes/concat.h"

namespace weft::layers {

namespace {

// (N, channels, H, W) for (N, C, H, W), and (N, channels) for (N, C).
Shape with_channels(const Shape& shape, std::int64_t channels) {
  if (shape.rank() == 2) return {shape[0], channels};
  return {shape[0], channels, shape[2], shape[3]};
}

kernels::ConcatDims concat_dims(const Shape& x, const Shape& other) {
  const std::int64_t plane = x.rank() == 2 ? 1 : x[2] * x[3];
  return {x[0], x[1] * plane, other[1] * plane};
}

}  // namespace

Concat::Concat(std::string name, std::int64_t channels, std::int64_t other_channels)
    : Layer(std::move(name)), channels_(channels), others_(other_channels) {
  if (channels > 0 && other_channels > 0) return;
  throw Error(ErrorKind::usage, str(this->name(), ": Concat expects channels, found ", channels,
                                    " and ", other_channels));
}

LayerText Concat::read(Words&) {
  return {[](const LayerSite& site) {
    const Shape &a = site.input, &b = site.other;
    const bool is_known = a.rank() == 2 || a.rank() == 4;
    if (!is_known || a.rank() != b.rank() || with_channels(a, b[1]) != b) {
      const auto text = [](const Shape& shape) { return Shape(shape.extents().subspan(1)); };
      throw Error(ErrorKind::data, str("the blocks of concat give ", text(a), " and ", text(b),
                                       ", which differ in more than their channels"));
    }
    return std::make_unique<Concat>(site.name, a[1], b[1]);
  }};
}

Shape Concat::do_output_shape(const Shape& input) const {
  if ((input.rank() != 2 && input.rank() != 4) || input[1] != channels_) {
    reject_input(str("(N, ", channels_, ") or (N, ", channels_, ", H, W)"), input);
  }
  return with_channels(input, channels_ + others_);
}

Shape Concat::other_shape(const Shape& input) const {
  return with_channels(input, others_);
}

void Concat::do_forward(const ForwardCall& call) const {
  const ConstFloatView& other = call.context.other;
  check_view("second operand", other, other_shape(call.x.shape), call.stream.device());
  kernels::concat(call.y.data, call.x.data, other.data, concat_dims(call.x.shape, other.shape),
                  call.stream);
}

void Concat::do_backward(const BackwardCall& call) const {
  const FloatView& other = call.context.other_gradient;
  const Shape shape = other_shape(call.x.shape);
  if (other.data != nullptr) {
    check_view("gradient of the second operand", other, shape, call.stream.device());
  }
  kernels::split(call.dx.data, other.data, call.dy.data, concat_dims(call.x.shape, shape),
                 call.stream);
}

}  // namespace weft::layers

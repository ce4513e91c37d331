// SPDX-License-Identifier: MIT
#include "layers/flatten.h"

namespace weft::layers {

namespace {

void copy(FloatView to, ConstFloatView from, const Stream& stream) {
  if (to.data == from.data) return;
  copy_bytes(to.data, to.device, from.data, from.device,
             static_cast<std::size_t>(from.elements()) * sizeof(float), stream);
}

}  // namespace

// The product is taken over the axes behind the batch, which may be 0.
Shape Flatten::do_output_shape(const Shape& input) const {
  return {input[0], Shape(input.extents().subspan(1)).elements()};
}

void Flatten::do_forward(const ForwardCall& call) const {
  copy(call.y, call.x, call.stream);
}

void Flatten::do_backward(const BackwardCall& call) const {
  if (call.dx.data != nullptr) copy(call.dx, call.dy, call.stream);
}

}  // namespace weft::layers

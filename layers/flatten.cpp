// SPDX-License-Identifier: MIT
#include "layers/flatten.h"

#include <algorithm>

namespace weft::layers {

namespace {

void copy(FloatView to, ConstFloatView from, const Stream& stream) {
  if (to.data == from.data) return;
  copy_bytes(to.data, to.device, from.data, from.device,
             static_cast<std::size_t>(from.elements()) * sizeof(float), stream);
}

}  // namespace

OnnxWords Flatten::from_flatten(OnnxReader& node) {
  node.require("axis", 1);
  return {.words = "flatten"};
}

OnnxWords Flatten::from_reshape(OnnxReader& node) {
  OnnxWords said{.words = "flatten"};
  const std::vector<std::int64_t> shape = node.few_numbers(1);
  const bool zero_copies = node.number("allowzero", 0) == 0;  // the input's extent
  const bool rows = shape.size() == 2 && shape[1] != 0 && shape[1] >= -1 &&
                    (shape[0] == 0    ? zero_copies
                     : shape[0] == -1 ? shape[1] > 0
                                      : shape[0] == node.batch());
  if (!rows) node.fail("expected one row for each image: a shape of (0, -1) or (-1, features)");
  said.row = std::max<std::int64_t>(shape[1], 0);
  return said;
}

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

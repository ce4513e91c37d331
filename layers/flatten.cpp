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

void Flatten::do_forward(FloatView y, ConstFloatView x, Epilogue, const LayerContext&,
                         const Stream& stream) const {
  copy(y, x, stream);
}

void Flatten::do_backward(FloatView dx, ConstFloatView dy, ConstFloatView, ConstFloatView,
                          GradientMode, const LayerContext&, const Stream& stream) const {
  if (dx.data != nullptr) copy(dx, dy, stream);
}

}  // namespace weft::layers

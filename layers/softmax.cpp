// SPDX-License-Identifier: MIT
#include "layers/softmax.h"

#include "kernels/softmax/softmax.h"

namespace weft::layers {

namespace {

std::int64_t columns(const Shape& shape) {
  return shape[shape.rank() - 1];
}

}  // namespace

// Per element: maximum, difference, exponential, sum, quotient.
double Softmax::forward_flops(const Shape& input) const {
  return 5.0 * static_cast<double>(input.elements());
}

Shape Softmax::do_output_shape(const Shape& input) const {
  if (input.rank() < 2 || columns(input) < 1) reject_input("(N, ..., C >= 1)", input);
  return input;
}

void Softmax::do_forward(FloatView y, ConstFloatView x, Epilogue, const LayerContext&,
                         const Stream& stream) const {
  const std::int64_t cols = columns(x.shape);
  kernels::softmax_forward(y.data, x.data, x.elements() / cols, cols, stream);
}

void Softmax::do_backward(FloatView dx, ConstFloatView dy, ConstFloatView, ConstFloatView y,
                          GradientMode, const LayerContext&, const Stream& stream) const {
  if (dx.data == nullptr) return;
  const std::int64_t cols = columns(y.shape);
  kernels::softmax_backward(dx.data, dy.data, y.data, y.elements() / cols, cols,
                            GradientMode::overwrite, stream);
}

}  // namespace weft::layers

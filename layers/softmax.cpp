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

void Softmax::do_forward(const ForwardCall& call) const {
  const auto& [y, x, epilogue, context, stream] = call;
  const std::int64_t cols = columns(x.shape);
  kernels::softmax_forward(y.data, x.data, x.elements() / cols, cols, stream);
}

void Softmax::do_backward(const BackwardCall& call) const {
  const auto& [dx, dy, x, y, parameter_mode, context, stream] = call;
  if (dx.data == nullptr) return;
  const std::int64_t cols = columns(y.shape);
  kernels::softmax_backward(dx.data, dy.data, y.data, y.elements() / cols, cols,
                            GradientMode::overwrite, stream);
}

}  // namespace weft::layers

// SPDX-License-Identifier: MIT
#include "layers/avg_pool2d.h"

#include "layers/pooling.h"

namespace weft::layers {

AvgPool2d::AvgPool2d(std::string name, const Window& window)
    : Layer(name), window_(checked_pool_window(name, window)) {}

std::string AvgPool2d::describe() const {
  return str("AvgPool2d(", to_string(window_), ")");
}

double AvgPool2d::forward_flops(const Shape& input) const {
  return static_cast<double>(output_shape(input).elements()) *
         static_cast<double>(window_.kernel_h * window_.kernel_w);
}

Shape AvgPool2d::do_output_shape(const Shape& input) const {
  if (!pool_accepts(window_, input)) reject_input(pool_expectation(window_), input);
  return pool_output(window_, input);
}

void AvgPool2d::do_forward(FloatView y, ConstFloatView x, Epilogue, const LayerContext&,
                           const Stream& stream) const {
  kernels::avg_pool2d_forward(y.data, x.data, pool_dims(window_, x.shape), stream);
}

void AvgPool2d::do_backward(FloatView dx, ConstFloatView dy, ConstFloatView x, ConstFloatView,
                            GradientMode, const LayerContext&, const Stream& stream) const {
  if (dx.data == nullptr) return;
  kernels::avg_pool2d_backward(dx.data, dy.data, pool_dims(window_, x.shape),
                               GradientMode::overwrite, stream);
}

}  // namespace weft::layers

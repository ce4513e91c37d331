// SPDX-License-Identifier: MIT
#include "layers/max_pool2d.h"

#include "layers/pooling.h"

namespace weft::layers {

MaxPool2d::MaxPool2d(std::string name, const Window& window)
    : Layer(name), window_(checked_pool_window(name, window)) {}

std::string MaxPool2d::describe() const {
  return str("MaxPool2d(", to_string(window_), ")");
}

double MaxPool2d::forward_flops(const Shape& input) const {
  return static_cast<double>(output_shape(input).elements()) *
         static_cast<double>(window_.kernel_h * window_.kernel_w);
}

Shape MaxPool2d::do_output_shape(const Shape& input) const {
  if (!pool_accepts(window_, input)) reject_input(pool_expectation(window_), input);
  return pool_output(window_, input);
}

std::size_t MaxPool2d::cache_bytes(const Shape& input) const {
  return static_cast<std::size_t>(output_shape(input).elements()) * sizeof(std::int32_t);
}

void MaxPool2d::do_forward(FloatView y, ConstFloatView x, Epilogue, const LayerContext& context,
                           const Stream& stream) const {
  auto* argmax =
      context.phase == Phase::training ? static_cast<std::int32_t*>(context.cache) : nullptr;
  kernels::max_pool2d_forward(y.data, argmax, x.data, pool_dims(window_, x.shape), stream);
}

void MaxPool2d::do_backward(FloatView dx, ConstFloatView dy, ConstFloatView x, ConstFloatView,
                            GradientMode, const LayerContext& context, const Stream& stream) const {
  if (dx.data == nullptr) return;
  kernels::max_pool2d_backward(dx.data, dy.data, static_cast<const std::int32_t*>(context.cache),
                               pool_dims(window_, x.shape), GradientMode::overwrite, stream);
}

}  // namespace weft::layers

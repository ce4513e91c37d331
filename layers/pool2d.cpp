// SPDX-License-Identifier: MIT
#include "layers/pool2d.h"

namespace weft::layers {

Pool2d::Pool2d(std::string name, const char* type, const Window& window)
    : Layer(std::move(name)), type_(type), window_(window) {
  window.check(this->name());
  if (2 * window.pad_h > window.kernel_h || 2 * window.pad_w > window.kernel_w) {
    throw Error(ErrorKind::usage,
                str(this->name(), ": expects padding of at most half the window, found ",
                    to_string(window)));
  }
}

double Pool2d::forward_flops(const Shape& input) const {
  return static_cast<double>(output_shape(input).elements()) *
         static_cast<double>(window_.kernel_h * window_.kernel_w);
}

Shape Pool2d::do_output_shape(const Shape& input) const {
  if (input.rank() != 4 || !window_.fits(input[2], input[3])) {
    reject_input(str("(N, C, ", window_.least_plane(), ")"), input);
  }
  return {input[0], input[1], window_.rows(input[2]), window_.columns(input[3])};
}

kernels::PoolDims Pool2d::dims(const Shape& input) const {
  return {.n = input[0],
          .c = input[1],
          .h = input[2],
          .w = input[3],
          .kh = window_.kernel_h,
          .kw = window_.kernel_w,
          .stride_h = window_.stride_h,
          .stride_w = window_.stride_w,
          .pad_h = window_.pad_h,
          .pad_w = window_.pad_w};
}

std::size_t MaxPool2d::cache_bytes(const Shape& input) const {
  return static_cast<std::size_t>(output_shape(input).elements()) * sizeof(std::int32_t);
}

void MaxPool2d::do_forward(const ForwardCall& call) const {
  const auto& [y, x, epilogue, context, stream] = call;
  auto* argmax =
      context.phase == Phase::training ? static_cast<std::int32_t*>(context.cache) : nullptr;
  kernels::max_pool2d_forward(y.data, argmax, x.data, dims(x.shape), stream);
}

void MaxPool2d::do_backward(const BackwardCall& call) const {
  if (call.dx.data == nullptr) return;
  const auto* argmax = static_cast<const std::int32_t*>(call.context.cache);
  kernels::max_pool2d_backward(call.dx.data, call.dy.data, argmax, dims(call.x.shape),
                               GradientMode::overwrite, call.stream);
}

void AvgPool2d::do_forward(const ForwardCall& call) const {
  kernels::avg_pool2d_forward(call.y.data, call.x.data, dims(call.x.shape), call.stream);
}

void AvgPool2d::do_backward(const BackwardCall& call) const {
  if (call.dx.data == nullptr) return;
  kernels::avg_pool2d_backward(call.dx.data, call.dy.data, dims(call.x.shape),
                               GradientMode::overwrite, call.stream);
}

}  // namespace weft::layers

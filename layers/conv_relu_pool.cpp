// SPDX-License-Identifier: MIT
#include "layers/conv_relu_pool.h"

#include <algorithm>

namespace weft::layers {

namespace {

bool side_by_side(const Window& w) {
  return w.stride_h == w.kernel_h && w.stride_w == w.kernel_w && w.pad_h == 0 && w.pad_w == 0 &&
         w.kernel_h <= 255 && w.kernel_w <= 255 && w.kernel_h * w.kernel_w <= 255;
}

kernels::ReluPoolOptions options_of(const KernelChoice& kernels) {
  return {.variant = kernels.conv_relu_pool, .mode = kernels.mode};
}

}  // namespace

ConvReluPool::ConvReluPool(const Conv2d& conv, const MaxPool2d& pool)
    : Layer(conv.name(), conv.parameters()), conv_(conv), pool_(pool) {
  if (side_by_side(pool.window())) return;
  throw Error(ErrorKind::usage,
              str(conv.name(), ": ConvReluPool expects windows side by side, of at most 255 ",
                  "elements, found ", pool.describe()));
}

bool ConvReluPool::joins(const Layer& first, const Layer& second, const Layer& third,
                         const Shape& input, const KernelChoice& kernels, Device device) {
  const auto* conv = dynamic_cast<const Conv2d*>(&first);
  const auto* pool = dynamic_cast<const MaxPool2d*>(&third);
  if (conv == nullptr || !second.traits().relu || pool == nullptr) return false;
  if (!kernels.fuse || !side_by_side(pool->window())) return false;
  if (kernels.conv_relu_pool != kernels::kAutomatic) return true;
  if (kernels.conv != kernels::kAutomatic) return false;
  if (device.is_cpu()) return true;
  const kernels::ReluPoolDims dims{conv->dims(input), pool->window().kernel_h,
                                   pool->window().kernel_w};
  bool on_tensor_cores = true;
  for (const auto pass : {kernels::ConvPass::forward, kernels::ConvPass::backward_data,
                          kernels::ConvPass::backward_weights}) {
    const auto choice = kernels::conv_relu_pool_choice({pass, dims, kernels.mode}, device);
    on_tensor_cores = on_tensor_cores && choice.rung == "wgmma";
  }
  if (on_tensor_cores) return true;
  // The others compute in fp32 without tiles: above some thousand weights the tiles of a product
  // reuse more than they can.
  constexpr std::int64_t kFewWeights = 4096;
  return conv->parameters()[0].shape.elements() <= kFewWeights;
}

std::string ConvReluPool::describe() const {
  return str(conv_.describe(), " + ReLU + ", pool_.describe());
}

kernels::ReluPoolDims ConvReluPool::dims(const Shape& input) const {
  return {conv_.dims(input), pool_.window().kernel_h, pool_.window().kernel_w};
}

std::size_t ConvReluPool::cache_bytes(const Shape& input) const {
  return static_cast<std::size_t>(output_shape(input).elements()) * sizeof(std::uint8_t);
}

std::size_t ConvReluPool::workspace_bytes(const Shape& input, const KernelChoice& kernels,
                                          Device device, Phase phase) const {
  using kernels::ConvPass;
  const auto bytes_of = [&](ConvPass pass) {
    return kernels::conv2d_relu_pool_workspace_bytes(pass, dims(input), options_of(kernels),
                                                     device);
  };
  const std::size_t forward = bytes_of(ConvPass::forward);
  if (phase == Phase::inference) return forward;
  return std::max(
      {forward, bytes_of(ConvPass::backward_data), bytes_of(ConvPass::backward_weights)});
}

double ConvReluPool::forward_flops(const Shape& input) const {
  const Shape map = conv_.output_shape(input);
  return conv_.forward_flops(input) + static_cast<double>(map.elements()) +
         pool_.forward_flops(map);
}

Shape ConvReluPool::do_output_shape(const Shape& input) const {
  return pool_.output_shape(conv_.output_shape(input));
}

void ConvReluPool::do_forward(const ForwardCall& call) const {
  const auto& [y, x, epilogue, context, stream] = call;
  const float* bias = conv_.has_bias() ? context.parameters[1].data : nullptr;
  auto* argmax =
      context.phase == Phase::training ? static_cast<std::uint8_t*>(context.cache) : nullptr;
  kernels::conv2d_relu_pool_forward(y.data, argmax, x.data, context.parameters[0].data, bias,
                                    dims(x.shape), options_of(context.kernels), context.workspace,
                                    stream);
}

void ConvReluPool::do_backward(const BackwardCall& call) const {
  const auto& [dx, dy, x, y, parameter_mode, context, stream] = call;
  const kernels::ReluPoolDims extents = dims(x.shape);
  const auto* argmax = static_cast<const std::uint8_t*>(context.cache);
  kernels::ReluPoolOptions options = options_of(context.kernels);
  float* db = conv_.has_bias() ? context.gradients[1].data : nullptr;
  kernels::conv2d_relu_pool_backward_weights(context.gradients[0].data, db, dy.data, argmax, x.data,
                                             extents, parameter_mode, options, context.workspace,
                                             stream);
  if (dx.data != nullptr) {
    if (context.mask_input_gradient) options.relu_mask = x.data;
    kernels::conv2d_relu_pool_backward_data(dx.data, dy.data, argmax, context.parameters[0].data,
                                            extents, GradientMode::overwrite, options,
                                            context.workspace, stream);
  }
}

}  // namespace weft::layers

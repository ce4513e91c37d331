// SPDX-License-Identifier: MIT
#include "layers/network/conv_relu_pool.h"

#include <algorithm>
#include <cstddef>

#include "engine/extent.h"
#include "layers/network/arena.h"

namespace weft::layers {

namespace {

bool side_by_side(const Window& w) {
  return !w.ceil && w.more_h == 0 && w.more_w == 0 && w.stride_h == w.kernel_h &&
         w.stride_w == w.kernel_w && w.pad_h == 0 && w.pad_w == 0 && w.kernel_h <= 255 &&
         w.kernel_w <= 255 && w.kernel_h * w.kernel_w <= 255;
}

kernels::ReluPoolDims dims_of(const Conv2d& conv, const MaxPool2d& pool, const Shape& x) {
  return {conv.dims(x), pool.window().kernel_h, pool.window().kernel_w};
}

std::vector<ParameterSpec> parameters_of(const Conv2d* stem, const Conv2d& conv) {
  std::vector<ParameterSpec> specs = conv.parameters();
  if (stem != nullptr) {
    specs.insert(specs.begin(), stem->parameters().begin(), stem->parameters().end());
  }
  return specs;
}

using kernels::ConvPass;
constexpr ConvPass kPasses[] = {ConvPass::forward, ConvPass::backward_data,
                                ConvPass::backward_weights};

}  // namespace

ConvReluPool::ConvReluPool(const Conv2d& conv, const MaxPool2d& pool, const Conv2d* stem)
    : Layer(stem != nullptr ? stem->name() : conv.name(), parameters_of(stem, conv)),
      conv_(conv),
      pool_(pool),
      stem_(stem),
      first_(stem != nullptr ? stem->parameters().size() : 0) {
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
  if (kernels.batch_invariant && device.is_cuda()) return false;
  if (kernels.conv_relu_pool != kernels::kAutomatic) return true;
  if (kernels.conv != kernels::kAutomatic) return false;
  if (device.is_cpu()) return true;
  const kernels::ReluPoolDims dims = dims_of(*conv, *pool, input);
  bool on_tensor_cores = true;
  for (const ConvPass pass : kPasses) {
    on_tensor_cores = on_tensor_cores &&
                      kernels::conv_relu_pool_on_tensor_cores({pass, dims, kernels.mode}, device);
  }
  if (on_tensor_cores) return true;
  // The others compute in fp32 without tiles: above some thousand weights the tiles of a product
  // reuse more than they can.
  constexpr std::int64_t kFewWeights = 4096;
  return conv->parameters()[0].shape.elements() <= kFewWeights;
}

bool ConvReluPool::joins_stem(std::span<const std::unique_ptr<Layer>, 5> layers, const Shape& input,
                              const KernelChoice& kernels, Device device) {
  const auto* stem = dynamic_cast<const Conv2d*>(layers[0].get());
  if (stem == nullptr || stem->in_channels() != 1 || !layers[1]->traits().relu) return false;
  const Window& w = stem->window();
  const bool has_shape = w.kernel_h == 3 && w.kernel_w == 3 && w.stride_h == 1 && w.stride_w == 1 &&
                         w.pad_h == 0 && w.pad_w == 0;
  if (!has_shape || kernels.conv != kernels::kAutomatic || device.is_cpu()) return false;
  const Shape x = stem->output_shape(input);
  if (!joins(*layers[2], *layers[3], *layers[4], x, kernels, device)) return false;
  const kernels::ReluPoolDims dims = dims_of(dynamic_cast<const Conv2d&>(*layers[2]),
                                             dynamic_cast<const MaxPool2d&>(*layers[4]), x);
  return std::ranges::all_of(kPasses, [&](ConvPass pass) {
    const kernels::ReluPoolProblem problem{pass, dims, kernels.mode, true};
    const std::string_view rung = kernels.conv_relu_pool != kernels::kAutomatic
                                      ? std::string_view(kernels.conv_relu_pool)
                                      : kernels::conv_relu_pool_choice(problem, device).rung;
    return kernels::conv_relu_pool_takes(rung, problem, device);
  });
}

std::string ConvReluPool::describe() const {
  const std::string stem = stem_ != nullptr ? stem_->describe() + " + ReLU + " : "";
  return str(stem, conv_.describe(), " + ReLU + ", pool_.describe());
}

kernels::ReluPoolDims ConvReluPool::dims(const Shape& input) const {
  return dims_of(conv_, pool_, conv_input(input));
}

Shape ConvReluPool::conv_input(const Shape& input) const {
  return stem_ != nullptr ? stem_->output_shape(input) : input;
}

kernels::ReluPoolOptions ConvReluPool::options_of(const KernelChoice& kernels) const {
  kernels::ReluPoolOptions options{.variant = kernels.conv_relu_pool, .mode = kernels.mode};
  if (stem_ != nullptr) options.stem.emplace();
  return options;
}

kernels::ReluPoolOptions ConvReluPool::options_of(const LayerContext& context,
                                                  const ConstFloatView& x) const {
  kernels::ReluPoolOptions options = options_of(context.kernels);
  if (stem_ == nullptr) return options;
  const auto& parameters = context.parameters;
  options.stem = {x.data, parameters[0].data, stem_->has_bias() ? parameters[1].data : nullptr};
  return options;
}

std::size_t ConvReluPool::cache_bytes(const Shape& input) const {
  return static_cast<std::size_t>(output_shape(input).elements()) * sizeof(std::uint8_t);
}

std::size_t ConvReluPool::workspace_bytes(const Shape& input, const KernelChoice& kernels,
                                          Device device, Phase phase) const {
  const auto bytes_of = [&](ConvPass pass) {
    return kernels::conv2d_relu_pool_workspace_bytes(pass, dims(input), options_of(kernels),
                                                     device);
  };
  const std::size_t forward = bytes_of(ConvPass::forward);
  if (phase == Phase::inference) return forward;
  const std::size_t data = bytes_of(ConvPass::backward_data);
  const std::size_t weights = bytes_of(ConvPass::backward_weights);
  // A stem's gradient and that of the weights are computed beside each other.
  return std::max(forward, stem_ != nullptr ? round_up(data, Arena::kAlignment) + weights
                                            : std::max(data, weights));
}

double ConvReluPool::forward_flops(const Shape& input) const {
  const Shape x = conv_input(input);
  const Shape map = conv_.output_shape(x);
  double flops =
      conv_.forward_flops(x) + static_cast<double>(map.elements()) + pool_.forward_flops(map);
  if (stem_ != nullptr) flops += stem_->forward_flops(input) + static_cast<double>(x.elements());
  return flops;
}

Shape ConvReluPool::do_output_shape(const Shape& input) const {
  return pool_.output_shape(conv_.output_shape(conv_input(input)));
}

void ConvReluPool::do_forward(const ForwardCall& call) const {
  const auto& [y, x, epilogue, context, stream] = call;
  const float* bias = conv_.has_bias() ? context.parameters[first_ + 1].data : nullptr;
  auto* argmax =
      context.phase == Phase::training ? static_cast<std::uint8_t*>(context.cache) : nullptr;
  kernels::conv2d_relu_pool_forward(y.data, argmax, stem_ != nullptr ? nullptr : x.data,
                                    context.parameters[first_].data, bias, dims(x.shape),
                                    options_of(context, x), context.workspace, stream);
}

void ConvReluPool::do_backward(const BackwardCall& call) const {
  const auto& [dx, dy, x, y, parameter_mode, context, stream] = call;
  if (stem_ != nullptr && dx.data != nullptr) {
    throw Error(ErrorKind::usage,
                str(name(), ": joined with ", conv_.name(), " it has no gradient of its input; a ",
                    "plan with fuse = false has"));
  }
  const kernels::ReluPoolDims extents = dims(x.shape);
  const auto* argmax = static_cast<const std::uint8_t*>(context.cache);
  const float* w = context.parameters[first_].data;
  kernels::ReluPoolOptions options = options_of(context, x);
  float* db = conv_.has_bias() ? context.gradients[first_ + 1].data : nullptr;
  const auto weights = [&](const float* input, Workspace workspace, const Stream& on) {
    kernels::conv2d_relu_pool_backward_weights(call.context.gradients[first_].data, db,
                                               call.dy.data, argmax, input, extents,
                                               call.parameter_mode, options, workspace, on);
  };
  if (stem_ == nullptr) {
    if (!context.frozen) weights(x.data, context.workspace, stream);
    if (dx.data == nullptr) return;
    if (context.mask_input_gradient) options.relu_mask = x.data;
    return kernels::conv2d_relu_pool_backward_data(dx.data, dy.data, argmax, w, extents,
                                                   GradientMode::overwrite, options,
                                                   context.workspace, stream);
  }
  const std::size_t bytes = kernels::conv2d_relu_pool_workspace_bytes(
      ConvPass::backward_data, extents, options, stream.device());
  const std::size_t behind = round_up(bytes, Arena::kAlignment);
  weights(
      nullptr,
      {static_cast<std::byte*>(context.workspace.data) + behind, context.workspace.bytes - behind},
      context.branch != nullptr ? context.branch->fork() : stream);
  float* stem_db = stem_->has_bias() ? context.gradients[1].data : nullptr;
  kernels::conv2d_relu_pool_backward_stem(context.gradients[0].data, stem_db, dy.data, argmax, w,
                                          extents, parameter_mode, options,
                                          {context.workspace.data, bytes}, stream);
}

}  // namespace weft::layers

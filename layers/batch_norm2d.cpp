// SPDX-License-Identifier: MIT
#include "layers/batch_norm2d.h"

#include <algorithm>

#include "engine/extent.h"

namespace weft::layers {

namespace {

std::int64_t checked_channels(const std::string& name, std::int64_t channels) {
  if (channels < 1) {
    throw Error(ErrorKind::usage,
                str(name, ": BatchNorm2d expects at least 1 channel, found ", channels));
  }
  return channels;
}

std::vector<ParameterSpec> parameters_of(const std::string& name, std::int64_t channels) {
  const Shape shape{checked_channels(name, channels)};
  return {{.name = "weight", .shape = shape, .init_center = 1}, {.name = "bias", .shape = shape}};
}

std::vector<BufferSpec> buffers_of(const std::string& name, std::int64_t channels) {
  const Shape shape{checked_channels(name, channels)};
  return {{"running_mean", shape, 0}, {"running_var", shape, 1}};
}

std::size_t unwanted_dx_bytes(const Shape& input) {
  return static_cast<std::size_t>(round_up(input.elements(), 64)) * sizeof(float);
}

// Bytes that a layer keeps between two sums over ranks: moments in forward, two means in backward.
std::size_t over_ranks_bytes(std::int64_t channels) {
  static_assert(2 * sizeof(float) <= sizeof(kernels::Moments));
  return round_up(static_cast<std::size_t>(channels) * sizeof(kernels::Moments), std::size_t{256});
}

Workspace behind(const Workspace& workspace, std::size_t bytes) {
  return {static_cast<std::byte*>(workspace.data) + bytes, workspace.bytes - bytes};
}

}  // namespace

BatchNorm2d::BatchNorm2d(std::string name, std::int64_t channels, float eps, float momentum)
    : Layer(name, parameters_of(name, channels), buffers_of(name, channels)),
      channels_(channels),
      eps_(eps),
      momentum_(momentum) {
  if (!(eps > 0) || !(momentum >= 0 && momentum <= 1)) {
    throw Error(ErrorKind::usage,
                str(name, ": BatchNorm2d expects eps > 0 and 0 <= momentum <= 1, found ", eps,
                    " and ", momentum));
  }
}

LayerText BatchNorm2d::read(Words&) {
  return {[](const LayerSite& site) {
    return std::make_unique<BatchNorm2d>(site.name, site.input[1]);
  }};
}

OnnxWords BatchNorm2d::from_onnx(OnnxReader& node) {
  OnnxWords said{.words = "batch_norm"};
  for (int i = 1; i <= 4; ++i) {
    node.extents(i, 1);
    said.tensors.push_back({i});
  }
  const float epsilon = node.real("epsilon", kEps);
  if (!(epsilon >= 0 && epsilon <= 1)) node.fail("expected an epsilon from 0 to 1");
  said.tensors[0].epsilon = epsilon;
  said.tensors[0].variance = 4;
  node.require("training_mode", 0);
  node.require("spatial", 1);
  node.ignore("momentum");
  return said;
}

kernels::BatchNormDims BatchNorm2d::dims(const Shape& input) const {
  return {input[0], channels_, input.rank() == 2 ? 1 : input[2] * input[3]};
}

// mean, then inv_std.
std::size_t BatchNorm2d::cache_bytes(const Shape&) const {
  return 2 * static_cast<std::size_t>(channels_) * sizeof(float);
}

// The kernel always writes dx: room for it when the caller does not want it, then the kernel's own.
// Over ranks dx is not computed when nobody wants it, but there is something else to keep.
std::size_t BatchNorm2d::workspace_bytes(const Shape& input, const KernelChoice&, Device device,
                                         Phase phase) const {
  if (phase == Phase::inference) return 0;
  return std::max(unwanted_dx_bytes(input), over_ranks_bytes(channels_)) +
         kernels::batch_norm_workspace_bytes(dims(input), device);
}

// Per element: two sums for the statistics, then one multiply and one add.
double BatchNorm2d::forward_flops(const Shape& input) const {
  return 5.0 * static_cast<double>(output_shape(input).elements());
}

Shape BatchNorm2d::do_output_shape(const Shape& input) const {
  if ((input.rank() != 4 && input.rank() != 2) || input[1] != channels_) {
    reject_input(str("(N, ", channels_, ", H, W) or (N, ", channels_, ")"), input);
  }
  return input;
}

void BatchNorm2d::do_forward(const ForwardCall& call) const {
  const auto& [y, x, epilogue, context, stream] = call;
  const float* gamma = context.parameters[0].data;
  const float* beta = context.parameters[1].data;
  float* running_mean = context.buffers[0].data;
  float* running_var = context.buffers[1].data;
  if (context.phase == Phase::inference) {
    kernels::batch_norm_inference(y.data, x.data, running_mean, running_var, gamma, beta, eps_,
                                  dims(x.shape), stream);
    return;
  }
  if (context.sum_over_ranks != nullptr) return forward_over_ranks(call);
  float* mean = static_cast<float*>(context.cache);
  float* inv_std = mean + channels_;
  kernels::batch_norm_forward(y.data, mean, inv_std, running_mean, running_var, x.data, gamma, beta,
                              eps_, momentum_, dims(x.shape), {}, context.workspace, stream);
}

void BatchNorm2d::do_backward(const BackwardCall& call) const {
  const auto& [dx, dy, x, y, parameter_mode, context, stream] = call;
  if (context.sum_over_ranks != nullptr) return backward_over_ranks(call);
  const Workspace workspace = behind(context.workspace, unwanted_dx_bytes(x.shape));
  float* written_dx = dx.data != nullptr ? dx.data : static_cast<float*>(context.workspace.data);
  const float* mean = static_cast<const float*>(context.cache);
  const float* inv_std = mean + channels_;
  kernels::batch_norm_backward(written_dx, context.gradients[0].data, context.gradients[1].data,
                               dy.data, x.data, context.parameters[0].data, mean, inv_std,
                               dims(x.shape), GradientMode::overwrite, parameter_mode,
                               {.relu_mask = context.mask_input_gradient}, workspace, stream);
}

void BatchNorm2d::forward_over_ranks(const ForwardCall& call) const {
  const auto& [y, x, epilogue, context, stream] = call;
  const kernels::BatchNormDims slice = dims(x.shape);
  const SumOverRanks& sum = *context.sum_over_ranks;
  auto* moments = static_cast<kernels::Moments*>(context.workspace.data);
  float* mean = static_cast<float*>(context.cache);
  float* var = mean + channels_;  // which becomes inv_std
  kernels::batch_norm_moments(moments, mean, x.data, slice, context.all_rows, {},
                              behind(context.workspace, over_ranks_bytes(channels_)), stream);
  sum(mean, channels_, stream);
  kernels::batch_norm_variance(var, moments, mean, slice, context.all_rows, stream);
  sum(var, channels_, stream);
  kernels::batch_norm_inference(y.data, x.data, mean, var, context.parameters[0].data,
                                context.parameters[1].data, eps_, slice, stream);
  kernels::batch_norm_finish(var, context.buffers[0].data, context.buffers[1].data, mean, var, eps_,
                             momentum_, slice, context.all_rows, stream);
}

// The gradients of weight and bias stay sums over this rank's rows, as those of all layers.
void BatchNorm2d::backward_over_ranks(const BackwardCall& call) const {
  const auto& [dx, dy, x, y, parameter_mode, context, stream] = call;
  const kernels::BatchNormDims slice = dims(x.shape);
  const float* mean = static_cast<const float*>(context.cache);
  const float* inv_std = mean + channels_;
  auto* means = static_cast<float*>(context.workspace.data);
  kernels::batch_norm_gradient_sums(context.gradients[0].data, context.gradients[1].data, means,
                                    dy.data, x.data, mean, inv_std, slice, context.all_rows,
                                    parameter_mode, {},
                                    behind(context.workspace, over_ranks_bytes(channels_)), stream);
  // All ranks sum, also one without rows, whose dx has no memory.
  (*context.sum_over_ranks)(means, 2 * channels_, stream);
  if (dx.data == nullptr) return;
  kernels::batch_norm_input_gradient(dx.data, dy.data, x.data, context.parameters[0].data, mean,
                                     inv_std, means, slice, GradientMode::overwrite,
                                     context.mask_input_gradient, stream);
}

}  // namespace weft::layers

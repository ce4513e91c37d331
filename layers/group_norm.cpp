// SPDX-License-Identifier: MIT
#include "layers/group_norm.h"

#include <algorithm>

namespace weft::layers {

namespace {

constexpr float kMostEps = 1;

std::vector<ParameterSpec> scale_and_shift(const Shape& shape) {
  return {{.name = "weight", .shape = shape, .init_center = 1}, {.name = "bias", .shape = shape}};
}

float eps_of(Words& words, float otherwise) {
  if (!words.accept("eps")) return otherwise;
  return words.real("a number above 0 and below 1", 1e-30f, kMostEps);
}

// " eps 1e-06", where it is another than PyTorch's; also the tensors, which both have to be there.
OnnxWords with_eps(OnnxReader& node, std::string words) {
  const float eps = node.real("epsilon", NormLayer::kEps);
  if (!(eps >= 1e-30f && eps < kMostEps)) node.fail("expected an epsilon above 0 and below 1");
  if (!node.has_input(2)) node.fail("expected a scale and a bias");
  if (eps != NormLayer::kEps) words += " eps " + number_text(eps);
  return {.words = std::move(words), .tensors = {{1}, {2}}};
}

std::string eps_text(float eps) {
  return eps == NormLayer::kEps ? "" : ", eps " + number_text(eps);
}

std::size_t statistics(const kernels::GroupNormDims& dims) {
  return 2 * static_cast<std::size_t>(dims.n * dims.groups) * sizeof(float);
}

}  // namespace

NormLayer::NormLayer(std::string name, const Shape& weight, float eps)
    : Layer(std::move(name), scale_and_shift(weight)), eps_(eps) {
  if (!(eps > 0)) {
    throw Error(ErrorKind::usage, str(this->name(), ": expects eps > 0, found ", eps));
  }
}

// mean, then inv_std, of each group of each input.
std::size_t NormLayer::cache_bytes(const Shape& input) const {
  return statistics(dims(input));
}

// In inference they go to the workspace.
std::size_t NormLayer::workspace_bytes(const Shape& input, const KernelChoice&, Device,
                                       Phase phase) const {
  return phase == Phase::inference ? statistics(dims(input)) : 0;
}

double NormLayer::forward_flops(const Shape& input) const {
  return 7.0 * static_cast<double>(input.elements());
}

void NormLayer::do_forward(const ForwardCall& call) const {
  const auto& [y, x, epilogue, context, stream] = call;
  const kernels::GroupNormDims d = dims(x.shape);
  auto* mean = static_cast<float*>(context.phase == Phase::training ? context.cache
                                                                    : context.workspace.data);
  kernels::group_norm_forward(y.data, mean, mean + d.n * d.groups, x.data,
                              context.parameters[0].data, context.parameters[1].data, eps_, d,
                              stream);
}

void NormLayer::do_backward(const BackwardCall& call) const {
  const auto& [dx, dy, x, y, parameter_mode, context, stream] = call;
  const kernels::GroupNormDims d = dims(x.shape);
  const auto* mean = static_cast<const float*>(context.cache);
  kernels::group_norm_backward(dx.data, context.gradients[0].data, context.gradients[1].data,
                               dy.data, x.data, context.parameters[0].data, mean,
                               mean + d.n * d.groups, d, parameter_mode, stream);
}

GroupNorm::GroupNorm(std::string name, std::int64_t channels, std::int64_t groups, float eps)
    : NormLayer(std::move(name), {std::max<std::int64_t>(channels, 0)}, eps),
      channels_(channels),
      groups_(groups) {
  if (channels < 1 || groups < 1 || channels % groups != 0) {
    throw Error(ErrorKind::usage,
                str(this->name(), ": GroupNorm expects groups that divide its channels, found ",
                    groups, " groups of ", channels));
  }
}

LayerText GroupNorm::read(Words& words) {
  const bool each = words.accept("each");
  const std::int64_t groups = each ? 0 : words.number("a number of groups", 1, kMostFeatures);
  const float eps = eps_of(words, kEps);
  return {[=](const LayerSite& site) {
    const std::int64_t channels = site.input[1];
    return std::make_unique<GroupNorm>(site.name, channels, each ? channels : groups, eps);
  }};
}

OnnxWords GroupNorm::from_onnx(OnnxReader& node) {
  const std::int64_t groups = node.number("num_groups", 0);
  node.require("stash_type", 1);
  return with_eps(node, str("group_norm ", groups));
}

OnnxWords GroupNorm::from_instance_norm(OnnxReader& node) {
  return with_eps(node, "group_norm each");
}

std::string GroupNorm::describe() const {
  return str("GroupNorm(", groups_, ", ", channels_, eps_text(eps()), ")");
}

OnnxNode GroupNorm::onnx(const Shape&) const {
  if (groups_ == channels_) return {"InstanceNormalization", {{"epsilon", eps()}}};
  return {.type = "GroupNormalization",
          .attributes = {{"num_groups", groups_}, {"epsilon", eps()}},
          .opset = 21};
}

Shape GroupNorm::do_output_shape(const Shape& input) const {
  if (input.rank() != 4 || input[1] != channels_) {
    reject_input(str("(N, ", channels_, ", H, W)"), input);
  }
  return input;
}

kernels::GroupNormDims GroupNorm::dims(const Shape& input) const {
  return {input[0], channels_, input[2] * input[3], groups_};
}

LayerNorm::LayerNorm(std::string name, const Shape& values, float eps)
    : NormLayer(std::move(name), values, eps), values_(values) {}

LayerText LayerNorm::read(Words& words) {
  const float eps = eps_of(words, kEps);
  return {[=](const LayerSite& site) {
    return std::make_unique<LayerNorm>(site.name, Shape(site.input.extents().subspan(1)), eps);
  }};
}

// Its tensors tell whether it normalises all values of an input: they have the extents of one.
OnnxWords LayerNorm::from_onnx(OnnxReader& node) {
  const std::int64_t axis = node.number("axis", -1);
  if (axis != -1 && axis != 1 && axis != -3) {
    node.fail(str("expected all axes behind the batch, found axis ", axis));
  }
  node.require("stash_type", 1);
  return with_eps(node, "layer_norm");
}

std::string LayerNorm::describe() const {
  return str("LayerNorm", values_, eps_text(eps()));  // "LayerNorm(8, 26, 26), eps 1e-06"
}

Shape LayerNorm::do_output_shape(const Shape& input) const {
  if (Shape(input.extents().subspan(1)) != values_) {
    reject_input(str("of N times ", values_), input);
  }
  return input;
}

kernels::GroupNormDims LayerNorm::dims(const Shape& input) const {
  return {input[0], values_.elements(), 1, 1};
}

}  // namespace weft::layers

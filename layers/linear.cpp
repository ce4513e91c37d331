// SPDX-License-Identifier: MIT
#include "layers/linear.h"

#include "layers/initial.h"

namespace weft::layers {

namespace {

std::vector<ParameterSpec> parameters_of(const std::string& name, std::int64_t in, std::int64_t out,
                                         bool bias) {
  if (in < 1 || out < 1) {
    throw Error(ErrorKind::usage,
                str(name, ": Linear expects at least 1 feature, found ", in, " in, ", out, " out"));
  }
  const float bound = fan_in_bound(in);
  std::vector<ParameterSpec> specs{{"weight", {out, in}, bound}};
  if (bias) specs.push_back({"bias", {out}, bound});
  return specs;
}

constexpr std::string_view kNoBias = " no_bias";

// `transposed`: the file has (in, out).
OnnxWords words_of(OnnxReader& node, bool transposed) {
  const std::int64_t features = node.extents(1, 2)[transposed ? 1 : 0];
  return {.words = str("linear ", features),
          .tensors = {{1, transposed}},
          .features = features,
          .as_last = "linear classes"};
}

}  // namespace

Linear::Linear(std::string name, std::int64_t in, std::int64_t out, bool bias)
    : Layer(name, parameters_of(name, in, out, bias)), in_(in), out_(out), bias_(bias) {}

LayerText Linear::read(Words& words) {
  const std::int64_t features =
      words.accept("classes") ? 0 : words.number("classes or a number", 1, kMostFeatures);
  const bool bias = !words.accept("no_bias");
  return {[=](const LayerSite& site) {
    return std::make_unique<Linear>(site.name, site.input[1],
                                    features > 0 ? features : site.classes, bias);
  }};
}

OnnxWords Linear::from_gemm(OnnxReader& node) {
  node.require("transA", 0);
  const bool transposed = node.number("transB", 0) == 0;
  if (node.real("alpha", 1) != 1) node.fail("expected alpha 1");
  OnnxWords said = words_of(node, transposed);
  const float beta = node.real("beta", 1);
  if (node.has_input(2)) {
    if (beta != 1) node.fail("expected beta 1");
    node.extents(2, 1);
    said.tensors.push_back({2});
  } else {
    said.words += kNoBias;
    said.as_last += kNoBias;
  }
  return said;
}

OnnxWords Linear::from_product(OnnxReader& node) {
  OnnxWords said = words_of(node, true);
  said.without_bias = kNoBias;
  return said;
}

std::string Linear::describe() const {
  return str("Linear(", in_, ", ", out_, bias_ ? ")" : ", no bias)");
}

double Linear::forward_flops(const Shape& input) const {
  return 2.0 * static_cast<double>(output_shape(input).elements()) * static_cast<double>(in_);
}

Shape Linear::do_output_shape(const Shape& input) const {
  if (input.rank() != 2 || input[1] != in_) reject_input(str("(N, ", in_, ")"), input);
  return {input[0], out_};
}

void Linear::do_forward(const ForwardCall& call) const {
  const auto& [y, x, epilogue, context, stream] = call;
  const float* bias = bias_ ? context.parameters[1].data : nullptr;
  kernels::gemm(y.data, x.data, context.parameters[0].data, bias,
                {.m = x.shape[0], .n = out_, .k = in_, .transpose_b = true},
                {.variant = context.kernels.gemm,
                 .mode = context.kernels.mode,
                 .epilogue = epilogue,
                 .overlap = context.kernels.fuse,
                 .batch_invariant = context.kernels.batch_invariant},
                stream);
}

void Linear::do_backward(const BackwardCall& call) const {
  const auto& [dx, dy, x, y, parameter_mode, context, stream] = call;
  const std::int64_t batch = x.shape[0];
  const bool wants_dx = dx.data != nullptr;
  const kernels::GemmOptions options{.variant = context.kernels.gemm,
                                     .mode = context.kernels.mode,
                                     .overlap = context.kernels.fuse};
  kernels::GemmOptions parameter_options = options;
  parameter_options.beta = parameter_mode == GradientMode::accumulate ? 1.0f : 0.0f;
  parameter_options.row_sums = bias_ ? context.gradients[1].data : nullptr;
  if (!context.frozen) {
    kernels::gemm(context.gradients[0].data, dy.data, x.data, nullptr,
                  {.m = out_, .n = in_, .k = batch, .transpose_a = true}, parameter_options,
                  wants_dx && context.branch != nullptr ? context.branch->fork() : stream);
  }
  if (wants_dx) {
    kernels::GemmOptions input_options = options;
    input_options.relu_mask = context.mask_input_gradient ? x.data : nullptr;
    kernels::gemm(dx.data, dy.data, context.parameters[0].data, nullptr,
                  {.m = batch, .n = in_, .k = out_}, input_options, stream);
  }
}

}  // namespace weft::layers

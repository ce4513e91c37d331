// SPDX-License-Identifier: MIT
#include "layers/conv2d.h"

#include <algorithm>
#include <tuple>

#include "layers/grouped_conv2d.h"
#include "layers/initial.h"

namespace weft::layers {

namespace {

std::vector<ParameterSpec> parameters_of(const std::string& name, std::int64_t in_channels,
                                         std::int64_t out_channels, const Window& window,
                                         bool bias) {
  if (in_channels < 1 || out_channels < 1) {
    throw Error(ErrorKind::usage, str(name, ": Conv2d expects at least 1 channel, found ",
                                      in_channels, " in, ", out_channels, " out"));
  }
  window.check(name);
  const Shape weight{out_channels, in_channels, window.kernel_h, window.kernel_w};
  const float bound = fan_in_bound(weight.elements() / out_channels);
  std::vector<ParameterSpec> specs{{"weight", weight, bound}};
  if (bias) specs.push_back({"bias", {out_channels}, bound});
  return specs;
}

// The tiles of implicit_gemm follow from the shape of one image.
kernels::ConvOptions options_of(const KernelChoice& choice) {
  const bool fixed = choice.batch_invariant && choice.conv == kernels::kAutomatic;
  return {.variant = fixed ? "implicit_gemm" : std::string_view(choice.conv), .mode = choice.mode};
}

}  // namespace

Conv2d::Conv2d(std::string name, std::int64_t in_channels, std::int64_t out_channels,
               const Window& window, bool bias)
    : Layer(name, parameters_of(name, in_channels, out_channels, window, bias)),
      in_channels_(in_channels),
      out_channels_(out_channels),
      window_(window),
      bias_(bias) {}

// With groups or dilation it is a GroupedConv2d.
LayerText Conv2d::read(Words& words) {
  const std::int64_t filters = words.number("a number of filters", 1, kMostFeatures);
  GroupedConv2d::Options options{.window = Window::read(words, false)};
  if (words.accept("dilation")) {
    std::tie(options.dilation_h, options.dilation_w) = words.extents("a dilation", 1);
  }
  if (words.accept("groups")) options.groups = words.number("groups", 1, kMostFeatures);
  options.bias = !words.accept("no_bias");
  return {[=](const LayerSite& site) -> std::unique_ptr<Layer> {
    const std::int64_t channels = site.input[1];
    if (options.groups == 1 && options.dilation_h == 1 && options.dilation_w == 1) {
      return std::make_unique<Conv2d>(site.name, channels, filters, options.window, options.bias);
    }
    return std::make_unique<GroupedConv2d>(site.name, channels, filters, options);
  }};
}

OnnxWords Conv2d::from_onnx(OnnxReader& node) {
  const auto weight = node.extents(1, 4);
  const auto kernel = node.numbers("kernel_shape", {weight[2], weight[3]});
  if (kernel[0] != weight[2] || kernel[1] != weight[3]) {
    node.fail(str("its kernel_shape is ", kernel[0], "x", kernel[1], ", that of its weight ",
                  weight[2], "x", weight[3]));
  }
  OnnxWords said{.words = str("conv ", weight[0], " ", kernel[0], "x", kernel[1],
                              strides_and_pads(node, false)),
                 .tensors = {{1}},
                 .features = weight[0]};
  const auto dilations = node.numbers("dilations", {1, 1});
  if (dilations[0] != 1 || dilations[1] != 1) {
    said.words += str(" dilation ", extents_text(dilations[0], dilations[1]));
  }
  if (const std::int64_t groups = node.number("group", 1); groups != 1) {
    said.words += str(" groups ", groups);
  }
  if (node.has_input(2)) {
    node.extents(2, 1);
    said.tensors.push_back({2});
  } else {
    said.words += " no_bias";
  }
  return said;
}

std::string Conv2d::describe() const {
  return str("Conv2d(", in_channels_, ", ", out_channels_, ", ", to_string(window_),
             bias_ ? ")" : ", no bias)");
}

kernels::ConvDims Conv2d::dims(const Shape& input) const {
  return {.n = input[0],
          .c = in_channels_,
          .h = input[2],
          .w = input[3],
          .oc = out_channels_,
          .kh = window_.kernel_h,
          .kw = window_.kernel_w,
          .stride_h = window_.stride_h,
          .stride_w = window_.stride_w,
          .pad_h = window_.pad_h,
          .pad_w = window_.pad_w};
}

std::size_t Conv2d::workspace_bytes(const Shape& input, const KernelChoice& kernels, Device device,
                                    Phase phase) const {
  using kernels::ConvPass;
  const auto bytes_of = [&](ConvPass pass) {
    return kernels::conv2d_workspace_bytes(pass, dims(input), options_of(kernels), device);
  };
  const std::size_t forward = bytes_of(ConvPass::forward);
  if (phase == Phase::inference) return forward;
  return std::max(
      {forward, bytes_of(ConvPass::backward_data), bytes_of(ConvPass::backward_weights)});
}

double Conv2d::forward_flops(const Shape& input) const {
  const std::int64_t per_output = in_channels_ * window_.kernel_h * window_.kernel_w;
  return 2.0 * static_cast<double>(output_shape(input).elements()) *
         static_cast<double>(per_output);
}

Shape Conv2d::do_output_shape(const Shape& input) const {
  if (input.rank() != 4 || input[1] != in_channels_ || !window_.fits(input[2], input[3])) {
    reject_input(str("(N, ", in_channels_, ", ", window_.least_plane(), ")"), input);
  }
  return {input[0], out_channels_, window_.rows(input[2]), window_.columns(input[3])};
}

void Conv2d::do_forward(const ForwardCall& call) const {
  const auto& [y, x, epilogue, context, stream] = call;
  const float* bias = bias_ ? context.parameters[1].data : nullptr;
  kernels::ConvOptions options = options_of(context.kernels);
  options.tile_errors = context.phase == Phase::training;
  kernels::conv2d_forward(y.data, x.data, context.parameters[0].data, bias, dims(x.shape), epilogue,
                          options, context.workspace, stream);
}

void Conv2d::do_backward(const BackwardCall& call) const {
  const auto& [dx, dy, x, y, parameter_mode, context, stream] = call;
  const kernels::ConvDims extents = dims(x.shape);
  using kernels::ConvPass;
  float* db = bias_ ? context.gradients[1].data : nullptr;
  kernels::ConvOptions options = options_of(context.kernels);
  options.tile_errors = true;
  if (!context.frozen) {
    kernels::conv2d_backward_weights(context.gradients[0].data, db, dy.data, x.data, extents,
                                     parameter_mode, options, context.workspace, stream);
  }
  if (dx.data != nullptr) {
    if (context.mask_input_gradient) options.relu_mask = x.data;
    kernels::conv2d_backward_data(dx.data, dy.data, context.parameters[0].data, extents,
                                  GradientMode::overwrite, options, context.workspace, stream);
  }
}

}  // namespace weft::layers

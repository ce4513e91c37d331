// SPDX-License-Identifier: MIT
#include "layers/grouped_conv2d.h"

#include "kernels/padding.h"
#include "layers/initial.h"

namespace weft::layers {

namespace {

std::vector<ParameterSpec> grouped_parameters_of(const std::string& name, std::int64_t in_channels,
                                                 std::int64_t out_channels,
                                                 const GroupedConv2d::Options& options) {
  const auto& [window, groups, dilation_h, dilation_w, bias] = options;
  window.check(name);
  if (in_channels < 1 || out_channels < 1 || groups < 1 || in_channels % groups != 0 ||
      out_channels % groups != 0) {
    throw Error(ErrorKind::usage,
                str(name, ": Conv2d expects groups that divide its channels, found ", groups,
                    " groups of ", in_channels, " in, ", out_channels, " out"));
  }
  constexpr std::int64_t kMostDilation = 1 << 20;
  if (dilation_h < 1 || dilation_w < 1 || dilation_h > kMostDilation ||
      dilation_w > kMostDilation) {
    throw Error(ErrorKind::usage, str(name, ": Conv2d expects a dilation from 1 to ", kMostDilation,
                                      ", found ", dilation_h, "x", dilation_w));
  }
  const Shape weight{out_channels, in_channels / groups, window.kernel_h, window.kernel_w};
  const float bound = fan_in_bound(weight.elements() / out_channels);
  std::vector<ParameterSpec> specs{{"weight", weight, bound}};
  if (bias) specs.push_back({"bias", {out_channels}, bound});
  return specs;
}

}  // namespace

GroupedConv2d::GroupedConv2d(std::string name, std::int64_t in_channels, std::int64_t out_channels,
                             const Options& options)
    : Layer(name, grouped_parameters_of(name, in_channels, out_channels, options)),
      in_channels_(in_channels),
      out_channels_(out_channels),
      options_(options) {}

std::string GroupedConv2d::describe() const {
  std::string text =
      str("Conv2d(", in_channels_, ", ", out_channels_, ", ", to_string(options_.window));
  if (options_.dilation_h != 1 || options_.dilation_w != 1) {
    text += str(", dilation ", options_.dilation_h, "x", options_.dilation_w);
  }
  if (options_.groups != 1) text += str(", groups ", options_.groups);
  return text + (options_.bias ? ")" : ", no bias)");
}

OnnxNode GroupedConv2d::onnx(const Shape&) const {
  OnnxNode node = with_window("Conv", options_.window);
  node.attributes.emplace_back("group", options_.groups);
  node.attributes.emplace_back("dilations",
                               std::vector<std::int64_t>{options_.dilation_h, options_.dilation_w});
  return node;
}

double GroupedConv2d::forward_flops(const Shape& input) const {
  const std::int64_t per_output = parameters()[0].shape.elements() / out_channels_;
  return 2.0 * static_cast<double>(output_shape(input).elements()) *
         static_cast<double>(per_output);
}

kernels::GroupedConvDims GroupedConv2d::dims(const Shape& input) const {
  const Window& window = options_.window;
  return {.n = input[0],
          .c = in_channels_,
          .h = input[2],
          .w = input[3],
          .oc = out_channels_,
          .kh = window.kernel_h,
          .kw = window.kernel_w,
          .stride_h = window.stride_h,
          .stride_w = window.stride_w,
          .pad_h = window.pad_h,
          .pad_w = window.pad_w,
          .dilation_h = options_.dilation_h,
          .dilation_w = options_.dilation_w,
          .groups = options_.groups};
}

Shape GroupedConv2d::do_output_shape(const Shape& input) const {
  const auto refuse = [&] {
    Window spanned = options_.window;
    spanned.kernel_h = options_.dilation_h * (spanned.kernel_h - 1) + 1;
    spanned.kernel_w = options_.dilation_w * (spanned.kernel_w - 1) + 1;
    reject_input(str("(N, ", in_channels_, ", ", spanned.least_plane(), ")"), input);
  };
  if (input.rank() != 4 || input[1] != in_channels_) refuse();
  const kernels::GroupedConvDims d = dims(input);
  if (!kernels::window_fits(d.span_h(), d.h, d.pad_h) ||
      !kernels::window_fits(d.span_w(), d.w, d.pad_w)) {
    refuse();
  }
  return {input[0], out_channels_, d.oh(), d.ow()};
}

void GroupedConv2d::do_forward(const ForwardCall& call) const {
  const auto& [y, x, epilogue, context, stream] = call;
  const float* bias = options_.bias ? context.parameters[1].data : nullptr;
  kernels::grouped_conv2d_forward(y.data, x.data, context.parameters[0].data, bias, dims(x.shape),
                                  epilogue, stream);
}

void GroupedConv2d::do_backward(const BackwardCall& call) const {
  const auto& [dx, dy, x, y, parameter_mode, context, stream] = call;
  float* db = options_.bias ? context.gradients[1].data : nullptr;
  if (!context.frozen) {
    kernels::grouped_conv2d_backward_weights(context.gradients[0].data, db, dy.data, x.data,
                                             dims(x.shape), parameter_mode, stream);
  }
  if (dx.data != nullptr) {
    kernels::grouped_conv2d_backward_data(dx.data, dy.data, context.parameters[0].data,
                                          dims(x.shape), GradientMode::overwrite, stream);
  }
}

}  // namespace weft::layers

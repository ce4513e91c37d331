// SPDX-License-Identifier: MIT
#include "layers/pool2d.h"

#include <algorithm>

#include "kernels/padding.h"

namespace weft::layers {

namespace {

template <class Pool>
LayerText global(Words&) {
  return {[](const LayerSite& site) {
    const std::int64_t h = site.input[2], w = site.input[3];
    return std::make_unique<Pool>(site.name, Window{h, w, h, w});
  }};
}

OnnxWords words_of(OnnxReader& node, const char* word) {
  const auto kernel = node.numbers("kernel_shape", {0, 0});
  OnnxWords said{
      .words = str(word, " ", extents_text(kernel[0], kernel[1]), strides_and_pads(node, true))};
  node.require_ones("dilations");
  node.ignore("storage_order");  // of the places of the largest values, which are not read
  return said;
}

}  // namespace

Pool2d::Pool2d(std::string name, const char* type, const Window& window, bool counts_padding)
    : Layer(std::move(name)), type_(type), window_(window), counts_padding_(counts_padding) {
  window.check(this->name());
  if (!kernels::padding_fits(window.pad_h, window.kernel_h) ||
      !kernels::padding_fits(window.pad_w, window.kernel_w)) {
    throw Error(ErrorKind::usage,
                str(this->name(), ": expects padding of at most half the window, found ",
                    to_string(window)));
  }
}

OnnxNode Pool2d::onnx(const Shape& input) const {
  const bool is_max = type() == "MaxPool2d";
  const bool whole = window_.kernel_h == input[2] && window_.kernel_w == input[3] &&
                     window_.pad_h == 0 && window_.pad_w == 0 && window_.more_h == 0 &&
                     window_.more_w == 0;
  if (whole) return {is_max ? "GlobalMaxPool" : "GlobalAveragePool"};
  OnnxNode node = with_window(is_max ? "MaxPool" : "AveragePool", window_);
  if (!is_max) {
    node.attributes.emplace_back("count_include_pad", std::int64_t{counts_padding_ ? 1 : 0});
  }
  if (window_.ceil) node.attributes.emplace_back("ceil_mode", std::int64_t{1});
  return node;
}

double Pool2d::forward_flops(const Shape& input) const {
  return static_cast<double>(output_shape(input).elements()) *
         static_cast<double>(window_.kernel_h * window_.kernel_w);
}

Shape Pool2d::do_output_shape(const Shape& input) const {
  if (input.rank() != 4 || !window_.fits(input[2], input[3])) {
    reject_input(str("(N, C, ", window_.least_plane(), ")"), input);
  }
  const std::int64_t rows = window_.rows(input[2]), columns = window_.columns(input[3]);
  if ((rows - 1) * window_.stride_h >= input[2] + window_.pad_h ||
      (columns - 1) * window_.stride_w >= input[3] + window_.pad_w) {
    reject_input("whose last window begins in the image", input);
  }
  return {input[0], input[1], rows, columns};
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
          .pad_w = window_.pad_w,
          .more_h = window_.more_rows(input[2]),
          .more_w = window_.more_columns(input[3]),
          .count = !counts_padding_ ? kernels::PoolCount::plane
                   : window_.ceil   ? kernels::PoolCount::padded
                                    : kernels::PoolCount::window};
}

LayerText MaxPool2d::read(Words& words) {
  return {[window = Window::read(words, true)](const LayerSite& site) {
    return std::make_unique<MaxPool2d>(site.name, window);
  }};
}
LayerText MaxPool2d::read_global(Words& words) {
  return global<MaxPool2d>(words);
}
OnnxWords MaxPool2d::from_onnx(OnnxReader& node) {
  node.ignore("count_include_pad");
  return words_of(node, "max_pool");
}

LayerText AvgPool2d::read(Words& words) {
  const Window window = Window::read(words, true);
  const bool counts = !words.accept("exclude_pad");
  return {[=](const LayerSite& site) {
    return std::make_unique<AvgPool2d>(site.name, window, counts);
  }};
}
LayerText AvgPool2d::read_global(Words& words) {
  return global<AvgPool2d>(words);
}
OnnxWords AvgPool2d::from_onnx(OnnxReader& node) {
  OnnxWords said = words_of(node, "avg_pool");
  const bool pads = said.words.find(" pad ") != std::string::npos;
  if (node.number("count_include_pad", 0) != 1 && pads) said.words += " exclude_pad";
  return said;
}

// Behind it, Weft's `linear` takes the values as a row, with keepdims or without.
OnnxWords AvgPool2d::from_reduce_mean(OnnxReader& node) {
  auto axes = node.numbers("axes", {0, 0});
  if (node.has_input(1)) axes = node.few_numbers(1);
  node.require("noop_with_empty_axes", 0);
  const std::int64_t keeps = node.number("keepdims", 1);
  for (std::int64_t& axis : axes) axis += axis < 0 ? 4 : 0;  // of (batch, channels, rows, columns)
  std::ranges::sort(axes);
  if (axes != std::vector<std::int64_t>{2, 3} || (keeps != 0 && keeps != 1)) {
    node.fail("expected a mean over the rows and columns, axes 2 and 3");
  }
  return {.words = "global_avg_pool"};
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

// SPDX-License-Identifier: MIT
// The family pool, and concatenation of channels.
#include <nanobind/stl/vector.h>

#include "kernels/padding.h"
#include "kernels/planes/concat.h"
#include "kernels/pool/pool.h"
#include "python/bindings/arrays.h"

namespace weft::python {
namespace {

using kernels::PoolDims;

// `stride` empty: that of the window.
PoolDims pool_dims(const Call& call, const Shape& x, const Extents& window,
                   const std::optional<Extents>& stride, const Extents& padding) {
  PoolDims dims;
  dims.n = x[0], dims.c = x[1], dims.h = x[2], dims.w = x[3];
  std::tie(dims.kh, dims.kw) = both(window);
  std::tie(dims.stride_h, dims.stride_w) = both(stride.value_or(window));
  std::tie(dims.pad_h, dims.pad_w) = both(padding);
  call.require(dims.kh > 0 && dims.kw > 0 && dims.stride_h > 0 && dims.stride_w > 0,
               "window and stride have to be above 0");
  call.require(dims.pad_h >= 0 && dims.pad_w >= 0 && kernels::padding_fits(dims.pad_h, dims.kh) &&
                   kernels::padding_fits(dims.pad_w, dims.kw),
               "padding is (", dims.pad_h, ", ", dims.pad_w,
               "), expected at most half of the window");
  call.require(kernels::window_fits(dims.kh, dims.h, dims.pad_h) &&
                   kernels::window_fits(dims.kw, dims.w, dims.pad_w),
               "the window (", dims.kh, ", ", dims.kw, ") is larger than x ", x,
               " with its padding");
  return dims;
}

Shape out_shape(const PoolDims& dims) {
  return {dims.n, dims.c, dims.oh(), dims.ow()};
}

ResultsOf<2> max_pool2d(const Array& x, const Extents& window, const std::optional<Extents>& stride,
                        const Extents& padding, const std::string& variant) {
  Call call("max_pool2d");
  const auto in = call.input<float>("x", x, 4);
  const PoolDims dims = pool_dims(call, in.shape, window, stride, padding);
  float* y = call.output<float>(out_shape(dims));
  auto* argmax = call.output<std::int32_t>(out_shape(dims));
  call.run([&](const Stream& on) {
    kernels::max_pool2d_forward(y, argmax, in.data, dims, variant, on);
  });
  return call.results();
}

// The shape that dx has; the backward passes do not read x.
Shape image_shape(const Call& call, const std::vector<std::int64_t>& shape) {
  call.require(shape.size() == 4, "shape has ", shape.size(), " numbers, expected (n, c, h, w)");
  return Shape(std::span<const std::int64_t>(shape));
}

Result max_pool2d_backward(const Array& dy, const Array& argmax,
                           const std::vector<std::int64_t>& shape, const Extents& window,
                           const std::optional<Extents>& stride, const Extents& padding,
                           const std::string& variant) {
  Call call("max_pool2d_backward");
  const Shape x = image_shape(call, shape);
  const PoolDims dims = pool_dims(call, x, window, stride, padding);
  const auto gradient = call.input<float>("dy", dy, out_shape(dims));
  const auto places = call.input<std::int32_t>("argmax", argmax, out_shape(dims));
  float* dx = call.output<float>(x);
  call.run([&](const Stream& on) {
    kernels::max_pool2d_backward(dx, gradient.data, places.data, dims, kOverwrite, variant, on);
  });
  return call.result();
}

Result avg_pool2d(const Array& x, const Extents& window, const std::optional<Extents>& stride,
                  const Extents& padding, const std::string& variant) {
  Call call("avg_pool2d");
  const auto in = call.input<float>("x", x, 4);
  const PoolDims dims = pool_dims(call, in.shape, window, stride, padding);
  float* y = call.output<float>(out_shape(dims));
  call.run([&](const Stream& on) { kernels::avg_pool2d_forward(y, in.data, dims, variant, on); });
  return call.result();
}

Result avg_pool2d_backward(const Array& dy, const std::vector<std::int64_t>& shape,
                           const Extents& window, const std::optional<Extents>& stride,
                           const Extents& padding, const std::string& variant) {
  Call call("avg_pool2d_backward");
  const Shape x = image_shape(call, shape);
  const PoolDims dims = pool_dims(call, x, window, stride, padding);
  const auto gradient = call.input<float>("dy", dy, out_shape(dims));
  float* dx = call.output<float>(x);
  call.run([&](const Stream& on) {
    kernels::avg_pool2d_backward(dx, gradient.data, dims, kOverwrite, variant, on);
  });
  return call.result();
}

// (rows, values) of an array of rank 2 or more, whose axis 1 are the channels.
std::int64_t values_of(const Shape& shape) {
  return shape.elements() / std::max<std::int64_t>(shape[0], 1);
}

Shape with_channels(const Shape& shape, std::int64_t channels) {
  std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
  extents[1] = channels;
  return Shape(std::span<const std::int64_t>(extents));
}

Result concat(const Array& a, const Array& b, const nb::object& out) {
  Call call("concat");
  const auto left = call.input<float>("a", a);
  call.require(left.shape.rank() >= 2, "a is ", left.shape, ", expected (n, channels, ...)");
  const auto right = call.input<float>("b", b);
  const bool fits = right.shape.rank() == left.shape.rank() &&
                    with_channels(left.shape, right.shape[1]) == right.shape;
  call.require(fits, "b is ", right.shape, ", expected other channels than ", left.shape, " alone");
  float* y = call.output<float>(with_channels(left.shape, left.shape[1] + right.shape[1]), out);
  const kernels::ConcatDims dims{left.shape[0], values_of(left.shape), values_of(right.shape)};
  call.run([&](const Stream& on) { kernels::concat(y, left.data, right.data, dims, on); });
  return call.result();
}

ResultsOf<2> split(const Array& y, std::int64_t channels) {
  Call call("split");
  const auto both = call.input<float>("y", y);
  call.require(both.shape.rank() >= 2, "y is ", both.shape, ", expected (n, channels, ...)");
  call.require(channels > 0 && channels < both.shape[1], "channels is ", channels,
               ", expected a part of ", both.shape[1]);
  const Shape first = with_channels(both.shape, channels);
  const Shape second = with_channels(both.shape, both.shape[1] - channels);
  float* a = call.output<float>(first);
  float* b = call.output<float>(second);
  const kernels::ConcatDims dims{both.shape[0], values_of(first), values_of(second)};
  call.run([&](const Stream& on) { kernels::split(a, b, both.data, dims, on); });
  return call.results();
}

}  // namespace

void bind_pooling(nb::module_& m) {
  m.def(
      "max_pool2d", &max_pool2d, "x"_a, "window"_a = std::int64_t{2}, nb::kw_only(),
      "stride"_a = nb::none(), "padding"_a = std::int64_t{0}, "variant"_a = "automatic",
      with_rungs(
          "The maximum of each window: (y, argmax).\n\n"
          "x: (n, c, h, w), float32. window, stride, padding: one number, or (rows, columns); "
          "stride\n"
          "None is the window. y: (n, c, oh, ow). argmax: int32, the place i * w + j in the plane.",
          "pool", "pool")
          .c_str());
  m.def("max_pool2d_backward", &max_pool2d_backward, "dy"_a, "argmax"_a, "shape"_a,
        "window"_a = std::int64_t{2}, nb::kw_only(), "stride"_a = nb::none(),
        "padding"_a = std::int64_t{0}, "variant"_a = "automatic",
        "The gradient of max_pool2d. dy, argmax: (n, c, oh, ow). shape: (n, c, h, w), that of dx.");
  m.def("avg_pool2d", &avg_pool2d, "x"_a, "window"_a = std::int64_t{2}, nb::kw_only(),
        "stride"_a = nb::none(), "padding"_a = std::int64_t{0}, "variant"_a = "automatic",
        "The mean of each window; padding counts as zeros. x: (n, c, h, w), float32. Returns\n"
        "(n, c, oh, ow).");
  m.def("avg_pool2d_backward", &avg_pool2d_backward, "dy"_a, "shape"_a,
        "window"_a = std::int64_t{2}, nb::kw_only(), "stride"_a = nb::none(),
        "padding"_a = std::int64_t{0}, "variant"_a = "automatic",
        "The gradient of avg_pool2d. dy: (n, c, oh, ow). shape: (n, c, h, w), that of dx.");
  m.def("concat", &concat, "a"_a, "b"_a, nb::kw_only(), "out"_a = nb::none(),
        "The channels of a, and behind them those of b. Both: (n, channels, ...), float32, which\n"
        "differ in their channels alone.");
  m.def("split", &split, "y"_a, "channels"_a,
        "The first channels of y, and the others: two arrays, as concat takes them.\n\n"
        "y: (n, c, ...), float32. channels: from 1 to c - 1.");
}

}  // namespace weft::python

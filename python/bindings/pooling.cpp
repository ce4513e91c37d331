// SPDX-License-Identifier: MIT
// The family pool.
#include <nanobind/stl/vector.h>

#include "kernels/padding.h"
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

Results max_pool2d(const Array& x, const Extents& window, const std::optional<Extents>& stride,
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
}

}  // namespace weft::python

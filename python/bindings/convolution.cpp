// SPDX-License-Identifier: MIT
// The families conv and conv_relu_pool.
#include <algorithm>

#include "kernels/conv/conv.h"
#include "kernels/conv_relu_pool/conv_relu_pool.h"
#include "kernels/padding.h"
#include "python/bindings/arrays.h"

namespace weft::python {
namespace {

using kernels::ConvDims;
using kernels::ConvPass;

// What x (n, c, h, w), w (oc, c, kh, kw), stride and padding come to.
ConvDims conv_dims(const Call& call, const Shape& x, const Shape& w, const Extents& stride,
                   const Extents& padding) {
  ConvDims dims{x[0], x[1], x[2], x[3], w[0], w[2], w[3], 1, 1, 0, 0};
  std::tie(dims.stride_h, dims.stride_w) = both(stride);
  std::tie(dims.pad_h, dims.pad_w) = both(padding);
  call.require(x[1] == w[1], "x ", x, " has ", x[1], " channels and w ", w, " has ", w[1]);
  call.require(dims.stride_h > 0 && dims.stride_w > 0, "stride is (", dims.stride_h, ", ",
               dims.stride_w, "), expected numbers above 0");
  call.require(dims.pad_h >= 0 && dims.pad_w >= 0, "padding is (", dims.pad_h, ", ", dims.pad_w,
               "), expected numbers from 0");
  call.require(kernels::window_fits(dims.kh, dims.h, dims.pad_h) &&
                   kernels::window_fits(dims.kw, dims.w, dims.pad_w),
               "w ", w, " is larger than x ", x, " with its padding");
  return dims;
}

Result conv2d(const Array& x, const Array& w, const OptionalArray& bias, const Extents& stride,
              const Extents& padding, bool relu, const std::string& variant,
              const std::string& mode, const nb::object& out) {
  Call call("conv2d");
  const auto in = call.input<float>("x", x, 4);
  const auto filters = call.input<float>("w", w, 4);
  const ConvDims dims = conv_dims(call, in.shape, filters.shape, stride, padding);
  const float* bias_data = call.optional_input<float>("bias", bias, {dims.oc});
  float* y = call.output<float>({dims.n, dims.oc, dims.oh(), dims.ow()}, out);
  const kernels::ConvOptions options{variant, parse_mode(mode), nullptr};
  const auto workspace = call.workspace(
      kernels::conv2d_workspace_bytes(ConvPass::forward, dims, options, call.stream().device()));
  const auto epilogue = relu ? kernels::Epilogue::relu : kernels::Epilogue::none;
  call.run([&](const Stream& on) {
    kernels::conv2d_forward(y, in.data, filters.data, bias_data, dims, epilogue, options, workspace,
                            on);
  });
  return call.result();
}

ResultsOf<3> conv2d_backward(const Array& dy, const Array& x, const Array& w, const Extents& stride,
                             const Extents& padding, const std::string& variant,
                             const std::string& mode) {
  Call call("conv2d_backward");
  const auto in = call.input<float>("x", x, 4);
  const auto filters = call.input<float>("w", w, 4);
  const ConvDims dims = conv_dims(call, in.shape, filters.shape, stride, padding);
  const auto gradient = call.input<float>("dy", dy, Shape{dims.n, dims.oc, dims.oh(), dims.ow()});
  const kernels::ConvOptions options{variant, parse_mode(mode), nullptr};
  const Device device = call.stream().device();
  const auto data_space = call.workspace(
      kernels::conv2d_workspace_bytes(ConvPass::backward_data, dims, options, device));
  const auto weight_space = call.workspace(
      kernels::conv2d_workspace_bytes(ConvPass::backward_weights, dims, options, device));
  float* dx = call.output<float>(in.shape);
  float* dw = call.output<float>(filters.shape);
  float* db = call.output<float>({dims.oc});
  call.run([&](const Stream& on) {
    kernels::conv2d_backward_data(dx, gradient.data, filters.data, dims, kOverwrite, options,
                                  data_space, on);
    kernels::conv2d_backward_weights(dw, db, gradient.data, in.data, dims, kOverwrite, options,
                                     weight_space, on);
  });
  return call.results();
}

kernels::ReluPoolDims relu_pool_dims(const Call& call, const ConvDims& conv, const Extents& pool) {
  kernels::ReluPoolDims dims;
  dims.conv = conv;
  std::tie(dims.ph, dims.pw) = both(pool);
  call.require(dims.ph > 0 && dims.pw > 0 && dims.ph < 256 && dims.ph * dims.pw < 256, "pool is (",
               dims.ph, ", ", dims.pw, "), expected a window of 1 to 255 elements");
  return dims;
}

ResultsOf<2> conv2d_relu_pool(const Array& x, const Array& w, const OptionalArray& bias,
                              const Extents& padding, const Extents& pool,
                              const std::string& variant, const std::string& mode) {
  Call call("conv2d_relu_pool");
  const auto in = call.input<float>("x", x, 4);
  const auto filters = call.input<float>("w", w, 4);
  const auto dims = relu_pool_dims(
      call, conv_dims(call, in.shape, filters.shape, std::int64_t{1}, padding), pool);
  const float* bias_data = call.optional_input<float>("bias", bias, {dims.conv.oc});
  const Shape shape{dims.conv.n, dims.conv.oc, dims.rows(), dims.columns()};
  float* y = call.output<float>(shape);
  auto* argmax = call.output<std::uint8_t>(shape);
  const kernels::ReluPoolOptions options{variant, parse_mode(mode), nullptr};
  const auto workspace = call.workspace(kernels::conv2d_relu_pool_workspace_bytes(
      kernels::ConvPass::forward, dims, options, call.stream().device()));
  call.run([&](const Stream& on) {
    kernels::conv2d_relu_pool_forward(y, argmax, in.data, filters.data, bias_data, dims, options,
                                      workspace, on);
  });
  return call.results();
}

ResultsOf<3> conv2d_relu_pool_backward(const Array& dy, const Array& argmax, const Array& x,
                                       const Array& w, const Extents& padding, const Extents& pool,
                                       const std::string& variant, const std::string& mode) {
  Call call("conv2d_relu_pool_backward");
  const auto in = call.input<float>("x", x, 4);
  const auto filters = call.input<float>("w", w, 4);
  const auto dims = relu_pool_dims(
      call, conv_dims(call, in.shape, filters.shape, std::int64_t{1}, padding), pool);
  const Shape shape{dims.conv.n, dims.conv.oc, dims.rows(), dims.columns()};
  const auto gradient = call.input<float>("dy", dy, shape);
  const auto places = call.input<std::uint8_t>("argmax", argmax, shape);
  const kernels::ReluPoolOptions options{variant, parse_mode(mode), nullptr};
  const auto bytes_of = [&](kernels::ConvPass pass) {
    return kernels::conv2d_relu_pool_workspace_bytes(pass, dims, options, call.stream().device());
  };
  const auto workspace = call.workspace(std::max(bytes_of(kernels::ConvPass::backward_data),
                                                 bytes_of(kernels::ConvPass::backward_weights)));
  float* dx = call.output<float>(in.shape);
  float* dw = call.output<float>(filters.shape);
  float* db = call.output<float>({dims.conv.oc});
  call.run([&](const Stream& on) {
    kernels::conv2d_relu_pool_backward_data(dx, gradient.data, places.data, filters.data, dims,
                                            kOverwrite, options, workspace, on);
    kernels::conv2d_relu_pool_backward_weights(dw, db, gradient.data, places.data, in.data, dims,
                                               kOverwrite, options, workspace, on);
  });
  return call.results();
}

}  // namespace

void bind_convolution(nb::module_& m) {
  m.def(
      "conv2d", &conv2d, "x"_a, "w"_a, "bias"_a = nb::none(), nb::kw_only(),
      "stride"_a = std::int64_t{1}, "padding"_a = std::int64_t{0}, "relu"_a = false,
      "variant"_a = "automatic", "mode"_a = "fp32", "out"_a = nb::none(),
      with_rungs("The cross-correlation of images with filters, as torch.nn.functional.conv2d.\n\n"
                 "x: (n, c, h, w). w: (oc, c, kh, kw). bias: (oc,). All are float32. stride, "
                 "padding: one\n"
                 "number, or (rows, columns). Returns (n, oc, oh, ow), oh = (h + 2 padding - kh) "
                 "// stride "
                 "+ 1.",
                 "conv")
          .c_str());
  m.def("conv2d_backward", &conv2d_backward, "dy"_a, "x"_a, "w"_a, nb::kw_only(),
        "stride"_a = std::int64_t{1}, "padding"_a = std::int64_t{0}, "variant"_a = "automatic",
        "mode"_a = "fp32",
        "The gradients of conv2d: (dx, dw, db).\n\n"
        "dy: (n, oc, oh, ow), the gradient of the output. dx has the shape of x: (n, c, h, w), dw\n"
        "that of w: (oc, c, kh, kw), and db is (oc,).");
  m.def("conv2d_relu_pool", &conv2d_relu_pool, "x"_a, "w"_a, "bias"_a = nb::none(), nb::kw_only(),
        "padding"_a = std::int64_t{0}, "pool"_a = std::int64_t{2}, "variant"_a = "automatic",
        "mode"_a = "fp32",
        with_rungs("conv2d of stride 1, ReLU and max pooling in one kernel: (y, argmax).\n\n"
                   "pool: the window, which is its stride too. y, argmax: (n, oc, oh // ph, ow // "
                   "pw); argmax\n"
                   "is uint8, the place in the window, or 255 where y is not above 0.",
                   "conv_relu_pool")
            .c_str());
  m.def("conv2d_relu_pool_backward", &conv2d_relu_pool_backward, "dy"_a, "argmax"_a, "x"_a, "w"_a,
        nb::kw_only(), "padding"_a = std::int64_t{0}, "pool"_a = std::int64_t{2},
        "variant"_a = "automatic", "mode"_a = "fp32",
        "The gradients of conv2d_relu_pool: (dx, dw, db). dy: the shape of y.");
}

}  // namespace weft::python

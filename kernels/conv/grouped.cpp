// SPDX-License-Identifier: MIT
// The validation and dispatch of a convolution in groups. There is one way on each device, so it
// has no table.
#include "kernels/conv/grouped.h"

#include <initializer_list>
#include <string>

#include "kernels/activation/activation.h"
#include "kernels/checks.h"
#include "kernels/conv/cpu/grouped_table.h"
#include "kernels/conv/parts/grouped_launchers.h"
#include "kernels/padding.h"

namespace weft::kernels {

namespace {

std::string describe(const GroupedConvDims& d) {
  return str("grouped conv2d input (", d.n, ", ", d.c, ", ", d.h, ", ", d.w, "), ", d.oc,
             " filters of ", d.kh, "x", d.kw, ", groups ", d.groups, ", stride (", d.stride_h, ", ",
             d.stride_w, "), pad (", d.pad_h, ", ", d.pad_w, "), dilation (", d.dilation_h, ", ",
             d.dilation_w, ")");
}

void check_grouped_dims(const GroupedConvDims& d) {
  constexpr std::int64_t kMostExtent = 1 << 24;  // places in a plane are of 32 bits
  const auto require = [&](bool holds, const char* what) {
    if (!holds) throw Error(ErrorKind::usage, str(describe(d), ": ", what));
  };
  require(d.n >= 0 && d.c >= 0 && d.oc >= 0 && d.h >= 0 && d.w >= 0,
          "an extent must not be negative");
  require(d.kh > 0 && d.kw > 0, "the kernel has no size");
  require(d.stride_h > 0 && d.stride_w > 0, "strides must be positive");
  require(d.dilation_h > 0 && d.dilation_w > 0, "dilations must be positive");
  require(d.pad_h >= 0 && d.pad_w >= 0, "pads must not be negative");
  for (const std::int64_t extent : {d.h, d.w, d.kh, d.kw, d.stride_h, d.stride_w, d.pad_h, d.pad_w,
                                    d.dilation_h, d.dilation_w}) {
    require(extent <= kMostExtent, "an extent is too large");
  }
  require(d.groups > 0 && d.c % d.groups == 0 && d.oc % d.groups == 0,
          "groups must divide channels and filters");
  require(window_fits(d.span_h(), d.h, d.pad_h) && window_fits(d.span_w(), d.w, d.pad_w),
          "the kernel is larger than the padded image");
  require(d.h * d.w <= INT32_MAX && d.oh() * d.ow() <= INT32_MAX, "a plane is too large");
}

struct GroupedExtents {
  std::int64_t x, y, w;
};

GroupedExtents checked_extents(std::string_view where, const GroupedConvDims& d) {
  check_grouped_dims(d);
  return {checked_elements(where, {d.n, d.c, d.h, d.w}),
          checked_elements(where, {d.n, d.oc, d.oh(), d.ow()}),
          checked_elements(where, {d.oc, d.group_channels(), d.kh, d.kw})};
}

}  // namespace

void grouped_conv2d_forward(float* y, const float* x, const float* w, const float* bias,
                            const GroupedConvDims& dims, Epilogue epilogue, const Stream& stream) {
  constexpr std::string_view kWhere = "grouped_conv2d_forward";
  check_enumerator(kWhere, "epilogue", epilogue, Epilogue::relu);
  const GroupedExtents of = checked_extents(kWhere, dims);
  if (of.y == 0) return;
  check_call(kWhere, stream,
             {writes("y", y, of.y), reads("x", x, of.x), reads("w", w, of.w),
              reads("bias", bias, dims.oc).or_null()});
  if (stream.device().is_cpu()) {
    return select_grouped_conv_cpu().forward(y, x, w, bias, dims, epilogue);
  }
  WEFT_CUDA(cuda::grouped_conv2d_forward)(y, x, w, bias, dims, epilogue, stream);
}

void grouped_conv2d_backward_data(float* dx, const float* dy, const float* w,
                                  const GroupedConvDims& dims, GradientMode mode,
                                  const Stream& stream) {
  constexpr std::string_view kWhere = "grouped_conv2d_backward_data";
  check_mode(kWhere, mode);
  const GroupedExtents of = checked_extents(kWhere, dims);
  if (of.x == 0) return;
  check_call(kWhere, stream, {writes("dx", dx, of.x), reads("dy", dy, of.y), reads("w", w, of.w)});
  if (stream.device().is_cpu()) {
    return select_grouped_conv_cpu().backward_data(dx, dy, w, dims, mode);
  }
  WEFT_CUDA(cuda::grouped_conv2d_backward_data)(dx, dy, w, dims, mode, stream);
}

void grouped_conv2d_backward_weights(float* dw, float* db, const float* dy, const float* x,
                                     const GroupedConvDims& dims, GradientMode mode,
                                     const Stream& stream) {
  constexpr std::string_view kWhere = "grouped_conv2d_backward_weights";
  check_mode(kWhere, mode);
  const GroupedExtents of = checked_extents(kWhere, dims);
  if (of.w == 0 && (db == nullptr || dims.oc == 0)) return;
  check_call(kWhere, stream,
             {writes("dw", dw, of.w), writes("db", db, dims.oc).or_null(), reads("dy", dy, of.y),
              reads("x", x, of.x)});
  if (db != nullptr) {
    bias_backward(db, dy, dims.n, dims.oc, dims.oh() * dims.ow(), mode, stream);
  }
  if (of.w == 0) return;
  if (stream.device().is_cpu()) {
    return select_grouped_conv_cpu().backward_weights(dw, dy, x, dims, mode);
  }
  WEFT_CUDA(cuda::grouped_conv2d_backward_weights)(dw, dy, x, dims, mode, stream);
}

}  // namespace weft::kernels

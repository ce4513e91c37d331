// SPDX-License-Identifier: MIT
#include "kernels/conv/parts/validate.h"

#include <algorithm>
#include <initializer_list>

#include "engine/error.h"
#include "kernels/padding.h"

namespace weft::kernels {

std::string describe(const ConvDims& d) {
  return str("conv2d input (", d.n, ", ", d.c, ", ", d.h, ", ", d.w, "), filters (", d.oc, ", ",
             d.c, ", ", d.kh, ", ", d.kw, "), stride (", d.stride_h, ", ", d.stride_w, "), pad (",
             d.pad_h, ", ", d.pad_w, ")");
}

namespace {

void check_bytes(const ConvDims& d, std::initializer_list<std::int64_t> extents) {
  std::int64_t bytes = sizeof(float);
  for (const std::int64_t extent : extents) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) {
      throw Error(ErrorKind::usage, str(describe(d), ": does not fit in memory"));
    }
  }
}

}  // namespace

void check_conv_dims(const ConvDims& d) {
  constexpr std::int64_t kMaxExtent = std::int64_t{1} << 40;  // keeps sums of extents in range
  constexpr std::int64_t kMaxStride = std::int64_t{1} << 31;
  const auto require = [&](bool holds, const char* what) {
    if (!holds) throw Error(ErrorKind::usage, str(describe(d), ": ", what));
  };
  require(d.n >= 0 && d.c >= 0 && d.oc >= 0, "n, c and oc must not be negative");
  require(d.h >= 0 && d.w >= 0 && d.kh > 0 && d.kw > 0, "the image or the kernel has no size");
  require(d.stride_h > 0 && d.stride_w > 0, "strides must be positive");
  require(d.pad_h >= 0 && d.pad_w >= 0, "pads must not be negative");
  require(d.stride_h < kMaxStride && d.stride_w < kMaxStride, "a stride is too large");
  for (const std::int64_t extent : {d.h, d.w, d.kh, d.kw, d.pad_h, d.pad_w}) {
    require(extent <= kMaxExtent, "an extent is too large");
  }
  require(window_fits(d.kh, d.h, d.pad_h) && window_fits(d.kw, d.w, d.pad_w),
          "the kernel is larger than the padded image");
  check_bytes(d, {d.n, d.c, d.h, d.w});
  check_bytes(d, {d.n, d.oc, d.oh(), d.ow()});
  check_bytes(d, {d.oc, d.c, d.kh, d.kw});
}

std::string image_size_refusal(const ConvDims& dims) {
  constexpr double kLimit = 1073741824.0;
  const auto product = [](auto... extents) { return (static_cast<double>(extents) * ...); };
  const double input = product(dims.c, dims.h + 2 * dims.pad_h, dims.w + 2 * dims.pad_w);
  const double output = product(dims.oc, dims.oh(), dims.ow());
  const double columns = product(dims.c, dims.kh, dims.kw, dims.oh(), dims.ow());
  const double gathered = product(dims.oc, dims.kh, dims.kw);
  if (std::max({input, output, columns, gathered}) < kLimit) return "";
  return str("it takes fewer than 2^30 elements an image, found input ", input, ", output ", output,
             ", columns ", columns);
}

}  // namespace weft::kernels

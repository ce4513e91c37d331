// SPDX-License-Identifier: MIT
#include "kernels/pool/pool.h"

#include <array>
#include <cstdint>
#include <string>

#include "kernels/checks.h"
#include "kernels/pool/cpu_table.h"

#ifdef WEFT_WITH_CUDA
#include "kernels/pool/cuda.h"
#endif

namespace weft::kernels {

namespace {

// Throws unless the windows fit; returns whether there is anything to compute.
bool check_dims(std::string_view where, const PoolDims& d) {
  const std::int64_t planes = checked_elements(where, {d.n, d.c});
  const std::int64_t inputs = checked_elements(where, {d.n, d.c, d.h, d.w});
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorKind::usage,
                str(where, ": ", what, " for input (", d.n, ", ", d.c, ", ", d.h, ", ", d.w,
                    "), window ", d.kh, "x", d.kw, ", stride ", d.stride_h, "x", d.stride_w,
                    ", padding ", d.pad_h, "x", d.pad_w));
  };
  if (d.kh < 1 || d.kw < 1) fail("window extents must be at least 1");
  if (d.stride_h < 1 || d.stride_w < 1) fail("strides must be at least 1");
  if (d.pad_h < 0 || d.pad_w < 0) fail("padding must not be negative");
  // Written as subtractions, so that extreme values cannot overflow.
  if (d.pad_h > d.kh - d.pad_h || d.pad_w > d.kw - d.pad_w) {
    fail("padding must be at most half the window");
  }
  if (planes == 0) return false;
  if (d.h < d.kh - 2 * d.pad_h || d.w < d.kw - 2 * d.pad_w) {
    fail("the window does not fit into the padded input");
  }
  if (d.h > 0 && d.w > INT32_MAX / d.h) fail("a plane must have less than 2^31 elements");
  if (d.kh > INT32_MAX || d.kw > INT32_MAX) fail("window extents must be below 2^31");
  return inputs > 0;
}

}  // namespace

void max_pool2d_forward(float* y, std::int32_t* argmax, const float* x, const PoolDims& dims,
                        const Stream& stream) {
  if (!check_dims("max_pool2d_forward", dims)) return;
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) return cuda::max_pool2d_forward(y, argmax, x, dims, stream);
#endif
  static_cast<void>(stream);
  select_pool_cpu().max_forward(y, argmax, x, dims);
}

void max_pool2d_backward(float* dx, const float* dy, const std::int32_t* argmax,
                         const PoolDims& dims, GradientMode mode, const Stream& stream) {
  if (!check_dims("max_pool2d_backward", dims)) return;
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda())
    return cuda::max_pool2d_backward(dx, dy, argmax, dims, mode, stream);
#endif
  static_cast<void>(stream);
  select_pool_cpu().max_backward(dx, dy, argmax, dims, mode);
}

void avg_pool2d_forward(float* y, const float* x, const PoolDims& dims, const Stream& stream) {
  if (!check_dims("avg_pool2d_forward", dims)) return;
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) return cuda::avg_pool2d_forward(y, x, dims, stream);
#endif
  static_cast<void>(stream);
  select_pool_cpu().avg_forward(y, x, dims);
}

void avg_pool2d_backward(float* dx, const float* dy, const PoolDims& dims, GradientMode mode,
                         const Stream& stream) {
  if (!check_dims("avg_pool2d_backward", dims)) return;
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) return cuda::avg_pool2d_backward(dx, dy, dims, mode, stream);
#endif
  static_cast<void>(stream);
  select_pool_cpu().avg_backward(dx, dy, dims, mode);
}

namespace {

constexpr std::array kVariants = {
    VariantInfo{"gather",
                "each thread gathers one value: outputs read their window, inputs find the windows "
                "that chose them, so backward needs no atomics",
                true, true, 0, ""},
};

}  // namespace

std::span<const VariantInfo> pool_variants() {
  return kVariants;
}

}  // namespace weft::kernels

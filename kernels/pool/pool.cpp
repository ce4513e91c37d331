// SPDX-License-Identifier: MIT
// Validation, the table of variants and dispatch of pooling.
#include "kernels/pool/pool.h"

#include <array>
#include <cstdint>
#include <string>

#include "engine/device.h"
#include "kernels/checks.h"
#include "kernels/pool/cpu_table.h"
#include "kernels/pool/cuda.h"

namespace weft::kernels {

namespace {

bool any_windows(const PoolDims&) {
  return true;
}

bool tiled_windows(const PoolDims& d) {
  const bool square = d.kh == d.kw && d.stride_h == 2 && d.stride_w == 2 && d.pad_h == d.pad_w;
  const bool known = (d.kh == 2 && d.pad_h == 0) || (d.kh == 3 && d.pad_h <= 1);
  // So that tiles, of two by two elements at least, are numbered by 32 bits.
  return square && known && d.n * d.c * ((d.h + 1) / 2) * ((d.w + 1) / 2) <= std::int64_t{1} << 30;
}

struct Row {
  PoolVariant variant;
  bool (*takes)(const PoolDims& dims);  // of valid dims
  VariantInfo info;
};

constexpr std::array<Row, 2> kRows{{
    {PoolVariant::gather,
     any_windows,
     {.name = "gather",
      .summary =
          "each thread gathers one value: outputs read their window, inputs find the windows "
          "that chose them, so backward needs no atomics",
      .on_cpu = true,
      .on_cuda = true}},
    {PoolVariant::vectorized,
     tiled_windows,
     {.name = "vectorized",
      .summary = "a thread makes two windows, or the rows of dx under them, from 16-byte vectors: "
                 "what argmax does not point to gets zeros as it goes",
      .on_cuda = true,
      .needs = "windows of 2x2, or of 3x3 padded by at most 1; stride 2; at most 2^30 of them"}},
}};

constexpr auto kInfos = [] {
  std::array<VariantInfo, kRows.size()> infos{};
  for (std::size_t i = 0; i < kRows.size(); ++i) infos[i] = kRows[i].info;
  return infos;
}();

const Row& row_of(PoolVariant variant) {
  for (const Row& row : kRows) {
    if (row.variant == variant) return row;
  }
  throw Error(ErrorKind::usage, "pool: no such variant");
}

bool runs_on(const VariantInfo& info, Device device) {
  return device.is_cpu() ? info.on_cpu : info.on_cuda;
}

PoolVariant automatic(const PoolDims& dims, Device device) {
  return device.is_cuda() && tiled_windows(dims) ? PoolVariant::vectorized : PoolVariant::gather;
}

std::string describe(const PoolDims& d) {
  return str("input (", d.n, ", ", d.c, ", ", d.h, ", ", d.w, "), window ", d.kh, "x", d.kw,
             ", stride ", d.stride_h, "x", d.stride_w, ", padding ", d.pad_h, "x", d.pad_w);
}

// Throws unless the windows fit; returns whether there is anything to compute.
bool check_dims(std::string_view where, const PoolDims& d) {
  const std::int64_t planes = checked_elements(where, {d.n, d.c});
  const std::int64_t inputs = checked_elements(where, {d.n, d.c, d.h, d.w});
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorKind::usage, str(where, ": ", what, " for ", describe(d)));
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

// Checks the arguments; the variant to run, or automatic when there is nothing to compute.
PoolVariant checked_variant(std::string_view where, const PoolDims& dims, PoolVariant variant,
                            Device device) {
  const bool any = check_dims(where, dims);
  if (variant == PoolVariant::automatic) {
    if (!any) return variant;
    variant = automatic(dims, device);
  }
  const Row& row = row_of(variant);
  if (!runs_on(row.info, device)) {
    throw Error(ErrorKind::usage,
                str(where, " variant ", row.info.name, " does not run on ", device));
  }
  if (!any) return PoolVariant::automatic;
  if (!row.takes(dims)) {
    throw Error(ErrorKind::usage, str(where, " variant ", row.info.name, " takes ", row.info.needs,
                                      "; found ", describe(dims)));
  }
  return variant;
}

#ifdef WEFT_WITH_CUDA
struct Launchers {
  PoolVariant variant;
  decltype(&cuda::max_pool2d_forward_gather) max_forward;
  decltype(&cuda::max_pool2d_backward_gather) max_backward;
  decltype(&cuda::avg_pool2d_forward_gather) avg_forward;
  decltype(&cuda::avg_pool2d_backward_gather) avg_backward;
};

constexpr Launchers kLaunchers[] = {
    {PoolVariant::gather, cuda::max_pool2d_forward_gather, cuda::max_pool2d_backward_gather,
     cuda::avg_pool2d_forward_gather, cuda::avg_pool2d_backward_gather},
    {PoolVariant::vectorized, cuda::max_pool2d_forward_vectorized,
     cuda::max_pool2d_backward_vectorized, cuda::avg_pool2d_forward_vectorized,
     cuda::avg_pool2d_backward_vectorized},
};

const Launchers& launchers_of(PoolVariant variant) {
  for (const Launchers& launchers : kLaunchers) {
    if (launchers.variant == variant) return launchers;
  }
  throw Error(ErrorKind::usage, "pool: a variant without launchers");
}
#endif

}  // namespace

bool pool_takes(PoolVariant variant, const PoolDims& dims, Device device) {
  if (variant == PoolVariant::automatic) return true;
  const Row& row = row_of(variant);
  return runs_on(row.info, device) && row.takes(dims);
}

void max_pool2d_forward(float* y, std::int32_t* argmax, const float* x, const PoolDims& dims,
                        PoolVariant variant, const Stream& stream) {
  variant = checked_variant("max_pool2d_forward", dims, variant, stream.device());
  if (variant == PoolVariant::automatic) return;
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) {
    return launchers_of(variant).max_forward(y, argmax, x, dims, stream);
  }
#endif
  select_pool_cpu().max_forward(y, argmax, x, dims);
}

void max_pool2d_backward(float* dx, const float* dy, const std::int32_t* argmax,
                         const PoolDims& dims, GradientMode mode, PoolVariant variant,
                         const Stream& stream) {
  variant = checked_variant("max_pool2d_backward", dims, variant, stream.device());
  if (variant == PoolVariant::automatic) return;
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) {
    return launchers_of(variant).max_backward(dx, dy, argmax, dims, mode, stream);
  }
#endif
  select_pool_cpu().max_backward(dx, dy, argmax, dims, mode);
}

void avg_pool2d_forward(float* y, const float* x, const PoolDims& dims, PoolVariant variant,
                        const Stream& stream) {
  variant = checked_variant("avg_pool2d_forward", dims, variant, stream.device());
  if (variant == PoolVariant::automatic) return;
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) return launchers_of(variant).avg_forward(y, x, dims, stream);
#endif
  select_pool_cpu().avg_forward(y, x, dims);
}

void avg_pool2d_backward(float* dx, const float* dy, const PoolDims& dims, GradientMode mode,
                         PoolVariant variant, const Stream& stream) {
  variant = checked_variant("avg_pool2d_backward", dims, variant, stream.device());
  if (variant == PoolVariant::automatic) return;
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) {
    return launchers_of(variant).avg_backward(dx, dy, dims, mode, stream);
  }
#endif
  select_pool_cpu().avg_backward(dx, dy, dims, mode);
}

std::span<const VariantInfo> pool_variants() {
  return kInfos;
}

PoolVariant parse_pool_variant(std::string_view name) {
  if (name == "automatic") return PoolVariant::automatic;
  std::string choices = "automatic";
  for (const Row& row : kRows) {
    if (row.info.name == name) return row.variant;
    choices += str(", ", row.info.name);
  }
  throw Error(ErrorKind::usage, str("unknown pool variant ", name, "; choose from ", choices));
}

}  // namespace weft::kernels

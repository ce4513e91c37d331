// SPDX-License-Identifier: MIT
// Max pooling with windows of 2 x 2 side by side on the CPU, the case of most networks, vectorised:
// two rows are taken apart into even and odd columns in registers.
//
// Included by kernels/pool/cpu/instances.cpp only: see kernels/isa.h.
#pragma once

#include "kernels/cpu_math.h"
#include "kernels/pool/pool.h"
#include "kernels/simd.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace halved {

// `lanes` windows of two rows; their argmax counts from (0, 0) of the plane, `corner` is that of
// the first. Loads whole vectors when `roomy`.
inline void pool_windows(float* y, std::int32_t* argmax, const float* top, std::int64_t w,
                         std::int32_t corner, std::int64_t lanes, bool roomy) {
  const auto row = [&](const float* from) {
    if (roomy) return simd::deinterleave(from);
    const std::int64_t floats = 2 * lanes, low = floats < kLanes ? floats : kLanes;
    return simd::deinterleave(simd::load_first(from, low),
                              simd::load_first(from + low, floats - low));
  };
  const std::int32_t below = static_cast<std::int32_t>(w);
  const simd::Pair upper = row(top), lower = row(top + w);
  simd::Maximum best(upper.even, 0);
  best.take(upper.odd, 1);
  best.take(lower.even, below);
  best.take(lower.odd, below + 1);
  simd::store_first(y, best.value, lanes);
  if (argmax == nullptr) return;
  const IndexVector index = best.index + corner + 2 * simd::lane_numbers();
  simd::store_first(argmax, index, lanes);
}

inline void pool_plane(float* y, std::int32_t* argmax, const float* x, const PoolDims& d) {
  const std::int64_t ow = d.ow();
  for (std::int64_t p = 0; p < d.oh(); ++p) {
    for (std::int64_t q = 0; q < ow; q += kLanes) {
      const std::int64_t lanes = ow - q < kLanes ? ow - q : kLanes;
      const std::int64_t corner = 2 * (p * d.w + q), out = p * ow + q;
      pool_windows(y + out, argmax == nullptr ? nullptr : argmax + out, x + corner, d.w,
                   static_cast<std::int32_t>(corner), lanes, lanes == kLanes);
    }
  }
}

}  // namespace halved

inline void max_pool2d_forward_halved(float* y, std::int32_t* argmax, const float* x,
                                      const PoolDims& d) {
  const std::int64_t in = d.h * d.w, out = d.oh() * d.ow();
#pragma omp parallel for schedule(static) if (d.n * d.c * in >= kParallelElements)
  for (std::int64_t plane = 0; plane < d.n * d.c; ++plane) {
    halved::pool_plane(y + plane * out, argmax == nullptr ? nullptr : argmax + plane * out,
                       x + plane * in, d);
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

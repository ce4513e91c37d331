// SPDX-License-Identifier: MIT
// What the rungs without tiles share: the sum over one output's window.
#pragma once

#include "kernels/signal/launchers.h"

namespace weft::kernels::cuda {

// Output `index` of the array; taps that fall outside of x are left out. `tap(i)` is the i-th.
template <int kRank, class Tap>
__device__ __forceinline__ float window_sum(const float* __restrict__ x, std::int64_t index,
                                            const SignalDims& d, Tap tap) {
  const std::int64_t row = kRank > 1 ? index / d.width : 0;
  const std::int64_t w0 = index - row * d.width - d.filter_width / 2;
  const std::int64_t z0 = kRank > 2 ? row / d.height - d.filter_depth / 2 : 0;
  const std::int64_t h0 =
      kRank > 2 ? row % d.height - d.filter_height / 2 : row - d.filter_height / 2;
  const int depth = kRank > 2 ? static_cast<int>(d.filter_depth) : 1;
  const int height = kRank > 1 ? static_cast<int>(d.filter_height) : 1;
  const int width = static_cast<int>(d.filter_width);
  float sum = 0;
  for (int a = 0; a < depth; ++a) {
    const std::int64_t z = z0 + a;
    if (z < 0 || z >= d.depth) continue;
    for (int b = 0; b < height; ++b) {
      const std::int64_t h = kRank > 1 ? h0 + b : 0;
      if (h < 0 || h >= d.height) continue;
      const float* in = x + (z * d.height + h) * d.width;
      for (int c = 0; c < width; ++c) {
        const std::int64_t w = w0 + c;
        if (w >= 0 && w < d.width) sum = fmaf(tap((a * height + b) * width + c), in[w], sum);
      }
    }
  }
  return sum;
}

}  // namespace weft::kernels::cuda

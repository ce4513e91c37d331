// SPDX-License-Identifier: MIT
// Brent-Kung: two elements per thread, a tree of sums up and a tree of prefixes down.
//
//   up     x0   x0-1  x2   x0-3  x4   x4-5  x6   x0-7      distances 1, 2, 4
//   down   x0   x0-1  x2   x0-3  x4   x0-5  x6   x0-7      distance 2
//          x0   x0-1  x0-2 x0-3  x0-4 x0-5  x0-6 x0-7      distance 1
//
// About 2n operations where Kogge-Stone does n log n, in twice the steps. Active threads are the
// first ones, so that warps retire whole; their places are strided, so that banks collide.
#pragma once

#include "kernels/scan/parts/levels.cuh"

namespace weft::kernels::cuda {

template <class T, class Op>
__global__ void __launch_bounds__(kScanBlock)
    scan_brent_kung_kernel(T* y, T* totals, const T* x, std::int64_t n, bool exclusive, Op op) {
  constexpr int kSection = 2 * kScanBlock;
  __shared__ T values[kSection];
  const int tid = static_cast<int>(threadIdx.x);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kSection;
#pragma unroll
  for (int place = tid; place < kSection; place += kScanBlock) {
    values[place] = first + place < n ? x[first + place] : Op::identity();
  }
  for (int distance = 1; distance < kSection; distance *= 2) {
    __syncthreads();  // the level below is written
    const int place = (tid + 1) * 2 * distance - 1;
    if (place < kSection) values[place] = op(values[place - distance], values[place]);
  }
  for (int distance = kSection / 4; distance > 0; distance /= 2) {
    __syncthreads();  // the level above is written
    const int place = (tid + 1) * 2 * distance - 1;
    if (place + distance < kSection) {
      values[place + distance] = op(values[place], values[place + distance]);
    }
  }
  __syncthreads();  // the scan is written before neighbours read it
#pragma unroll
  for (int place = tid; place < kSection; place += kScanBlock) {
    if (first + place < n) {
      if (exclusive) {
        y[first + place] = place == 0 ? Op::identity() : values[place - 1];
      } else {
        y[first + place] = values[place];
      }
    }
  }
  if (totals != nullptr && tid == 0) totals[blockIdx.x] = values[kSection - 1];
}

struct BrentKung : ScanByLevels<BrentKung> {
  static constexpr int kThreads = kScanBlock;
  template <class T>
  static constexpr std::int64_t kSection = 2 * kScanBlock;
  template <class T, class Op>
  static constexpr auto kernel = scan_brent_kung_kernel<T, Op>;
};

}  // namespace weft::kernels::cuda

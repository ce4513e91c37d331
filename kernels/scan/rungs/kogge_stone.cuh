// SPDX-License-Identifier: MIT
// Kogge-Stone: one element per thread, in shared memory; in step s every thread adds the value
// 2^s places to its left, so that log2(block) steps make a scan.
//
//   x0   x1    x2    x3
//   x0   x0-1  x1-2  x2-3     distance 1
//   x0   x0-1  x0-2  x0-3     distance 2
//
// n log n operations instead of n, and two barriers per step: one between reading a neighbour and
// overwriting one's own place, one before the next step reads.
#pragma once

#include "kernels/scan/parts/levels.cuh"

namespace weft::kernels::cuda {

template <class T, class Op>
__global__ void __launch_bounds__(kScanBlock)
    scan_kogge_stone_kernel(T* y, T* totals, const T* x, std::int64_t n, bool exclusive, Op op) {
  __shared__ T values[kScanBlock];
  const int tid = static_cast<int>(threadIdx.x);
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kScanBlock + tid;
  values[tid] = i < n ? x[i] : Op::identity();
  for (int distance = 1; distance < kScanBlock; distance *= 2) {
    __syncthreads();  // the values of the step before are written
    T value = values[tid];
    if (tid >= distance) value = op(values[tid - distance], value);
    __syncthreads();  // all threads have read before one writes
    values[tid] = value;
  }
  __syncthreads();  // the last step is written before a neighbour reads it
  if (i < n) {
    if (exclusive) {
      y[i] = tid == 0 ? Op::identity() : values[tid - 1];
    } else {
      y[i] = values[tid];
    }
  }
  if (totals != nullptr && tid == 0) totals[blockIdx.x] = values[kScanBlock - 1];
}

struct KoggeStone : ScanByLevels<KoggeStone> {
  static constexpr int kThreads = kScanBlock;
  template <class T>
  static constexpr std::int64_t kSection = kScanBlock;
  template <class T, class Op>
  static constexpr auto kernel = scan_kogge_stone_kernel<T, Op>;
};

}  // namespace weft::kernels::cuda

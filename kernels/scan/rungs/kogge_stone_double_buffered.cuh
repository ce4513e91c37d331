// SPDX-License-Identifier: MIT
// Kogge-Stone with two buffers in shared memory: a step reads one and writes the other, so that
// nothing it reads is overwritten and one barrier per step is enough. Costs twice the shared
// memory.
#pragma once

#include "kernels/scan/parts/levels.cuh"

namespace weft::kernels::cuda {

template <class T, class Op>
__global__ void __launch_bounds__(kScanBlock)
    scan_kogge_stone_double_buffered_kernel(T* y, T* totals, const T* x, std::int64_t n,
                                            bool exclusive, Op op) {
  __shared__ T buffers[2][kScanBlock];
  const int tid = static_cast<int>(threadIdx.x);
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kScanBlock + tid;
  int current = 0;
  buffers[current][tid] = i < n ? x[i] : Op::identity();
  for (int distance = 1; distance < kScanBlock; distance *= 2) {
    __syncthreads();  // the step before is written, and its reads of the other buffer are done
    T value = buffers[current][tid];
    if (tid >= distance) value = op(buffers[current][tid - distance], value);
    current = 1 - current;
    buffers[current][tid] = value;
  }
  __syncthreads();  // the last step is written before a neighbour reads it
  if (i < n) {
    if (exclusive) {
      y[i] = tid == 0 ? Op::identity() : buffers[current][tid - 1];
    } else {
      y[i] = buffers[current][tid];
    }
  }
  if (totals != nullptr && tid == 0) totals[blockIdx.x] = buffers[current][kScanBlock - 1];
}

struct KoggeStoneDoubleBuffered : ScanByLevels<KoggeStoneDoubleBuffered> {
  static constexpr int kThreads = kScanBlock;
  template <class T>
  static constexpr std::int64_t kSection = kScanBlock;
  template <class T, class Op>
  static constexpr auto kernel = scan_kogge_stone_double_buffered_kernel<T, Op>;
};

}  // namespace weft::kernels::cuda

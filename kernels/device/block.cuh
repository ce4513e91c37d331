// SPDX-License-Identifier: MIT
// Collectives of one block of kThreads threads (one-dimensional, a multiple of 32).
#pragma once

#include <cstdint>

#include "kernels/device/warp.cuh"

namespace weft::kernels::device {

// Shared memory of block_reduce(); one object may serve several calls in a row.
template <class T, int kThreads>
struct BlockReduceStorage {
  static_assert(kThreads % kWarpSize == 0, "warps must be whole for the shuffles");
  T warp[kThreads / kWarpSize];
};

// All threads of the block must call it. The result is valid, with the same bits, in all threads,
// or with kFirstOnly in thread 0; the order of operations depends on kThreads only.
template <int kThreads, bool kFirstOnly = false, class T, class Op>
__device__ __forceinline__ T block_reduce(T value, Op op,
                                          BlockReduceStorage<T, kThreads>& storage) {
  value = warp_reduce(value, op);
  __syncthreads();  // reads of an earlier call are done before its storage is written again
  if (threadIdx.x % kWarpSize == 0) storage.warp[threadIdx.x / kWarpSize] = value;
  __syncthreads();  // all warps have written before any thread reads
  if (kFirstOnly && threadIdx.x != 0) return value;
  T total = storage.warp[0];
#pragma unroll
  for (int i = 1; i < kThreads / kWarpSize; ++i) total = op(total, storage.warp[i]);
  return total;
}

// Calls visit(offset) for the elements of channel c of an array (outer, channels, inner) that
// belong to this thread, when `parts` blocks share the channel and this is block `part` of them.
//
//   inner = 9: 16 threads to a row, and 9 of them work   inner >= 32: a warp to a row
//
// so that the threads of a warp read neighbouring elements. The order of a thread's visits depends
// on the shape and the grid only.
template <class Visit>
__device__ __forceinline__ void visit_channel(std::int64_t outer, std::int64_t channels,
                                              std::int64_t inner, std::int64_t c, int part,
                                              int parts, Visit visit) {
  int lanes = kWarpSize;
  while (lanes > 1 && lanes / 2 >= inner) lanes /= 2;
  const int rows = static_cast<int>(blockDim.x) / lanes;
  const int row = static_cast<int>(threadIdx.x) / lanes;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const std::int64_t step = static_cast<std::int64_t>(parts) * rows;
  for (std::int64_t i = static_cast<std::int64_t>(part) * rows + row; i < outer; i += step) {
    const std::int64_t base = (i * channels + c) * inner;
#pragma unroll 4
    for (std::int64_t j = lane; j < inner; j += lanes) visit(base + j);
  }
}

}  // namespace weft::kernels::device

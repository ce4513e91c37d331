// SPDX-License-Identifier: MIT
// Totals of a warp and of a block, of values of any type made of 4-byte words.
#pragma once

#include "kernels/device/shuffle.cuh"

namespace weft::kernels::cuda {

// Valid in lane 0. All 32 lanes must call it.
template <class Value, class Op>
__device__ __forceinline__ Value warp_total(Value value, Op op) {
#pragma unroll
  for (int step = device::kWarpSize / 2; step > 0; step /= 2) {
    value = op(value, device::shuffle_down(value, step));
  }
  return value;
}

// Valid in thread 0. All threads of the block must call it, once; `totals` has room for one value
// per warp. Blocks have a power of two of warps, up to 32.
template <class Value, class Op>
__device__ __forceinline__ Value block_total(Value value, Op op, Value* totals) {
  const int tid = static_cast<int>(threadIdx.x);
  const int warp = tid / device::kWarpSize, lane = tid % device::kWarpSize;
  const int warps = static_cast<int>(blockDim.x) / device::kWarpSize;
  value = warp_total(value, op);
  if (lane == 0) totals[warp] = value;
  __syncthreads();  // the totals of all warps are written before the first warp reads them
  if (warp == 0) {
    // Lanes without a warp take part in the shuffles only: lane 0 gets nothing of theirs.
    value = totals[lane < warps ? lane : warps - 1];
#pragma unroll
    for (int step = device::kWarpSize / 2; step > 0; step /= 2) {
      if (step < warps) value = op(value, device::shuffle_down(value, step));
    }
  }
  return value;
}

}  // namespace weft::kernels::cuda

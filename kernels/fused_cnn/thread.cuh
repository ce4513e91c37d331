// SPDX-License-Identifier: MIT
// The number of a thread, anew for each use: a block does many things in a loop, and what the
// compiler would compute for all of them before it does not fit registers.
#pragma once

#include "kernels/device/unhoisted.cuh"

namespace weft::kernels::fused_cnn {

__device__ __forceinline__ int thread_id() {
  return device::unhoisted(static_cast<int>(threadIdx.x));
}
__device__ __forceinline__ int lane_id() {
  return thread_id() % 32;
}
__device__ __forceinline__ int warp_id() {
  return thread_id() / 32;
}

}  // namespace weft::kernels::fused_cnn

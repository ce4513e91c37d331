// SPDX-License-Identifier: MIT
// The number of a thread, computed again for each use. A block does many things in a loop, and the
// compiler would else compute what all of them need before the loop, for more registers than exist.
#pragma once

#include "kernels/device/opaque.cuh"

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

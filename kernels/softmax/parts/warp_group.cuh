// SPDX-License-Identifier: MIT
// A warp as the Group of row.cuh.
#pragma once

#include "kernels/device/warp.cuh"

namespace weft::kernels::cuda {

struct WarpGroup {
  static constexpr __device__ int size() { return device::kWarpSize; }
  static __device__ int rank() { return static_cast<int>(threadIdx.x) % device::kWarpSize; }
  static __device__ float max(float value) {
    return device::warp_reduce(value, device::MaxNumber());
  }
  static __device__ float sum(float value) { return device::warp_reduce(value, device::Add()); }
  static __device__ int lowest(int value) { return device::warp_reduce(value, device::MinInt()); }
};

}  // namespace weft::kernels::cuda

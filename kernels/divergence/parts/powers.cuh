// SPDX-License-Identifier: MIT
// The two sides of the branch, for the rungs that have one.
#pragma once

#include "engine/launch.h"
#include "kernels/device/vector.cuh"
#include "kernels/divergence/launchers.h"

namespace weft::kernels::cuda {

constexpr int kDivergenceThreads = 256;

// One multiplication a round.
__device__ __forceinline__ std::int32_t squares(std::int32_t x, int rounds) {
  std::uint32_t v = static_cast<std::uint32_t>(x);
#pragma unroll 4
  for (int r = 0; r < rounds; ++r) v = v * v + static_cast<std::uint32_t>(r);
  return static_cast<std::int32_t>(v);
}

// Two multiplications a round.
__device__ __forceinline__ std::int32_t cubes(std::int32_t x, int rounds) {
  std::uint32_t v = static_cast<std::uint32_t>(x);
#pragma unroll 4
  for (int r = 0; r < rounds; ++r) v = v * v * v + static_cast<std::uint32_t>(r);
  return static_cast<std::int32_t>(v);
}

}  // namespace weft::kernels::cuda

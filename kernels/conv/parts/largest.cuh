// SPDX-License-Identifier: MIT
// The largest absolute values of operands, by which their halves are scaled (device/halves.cuh):
// one for all images together, found in parts, and one for each filter. Each is the bits of a
// float.
#pragma once

#include "kernels/conv/parts/channel_blocks.cuh"
#include "kernels/device/halves.cuh"
#include "kernels/device/warp.cuh"

namespace weft::kernels::cuda {

constexpr int kLargestParts = 4 * device::kWarpSize;  // on 16-byte boundaries

struct LargestOfImages {
  std::uint32_t* parts = nullptr;  // (kLargestParts,); null: nothing to find
  const float* x = nullptr;
  std::int64_t count = 0;
};
struct LargestOfFilters {
  std::uint32_t* rows = nullptr;  // (rows,); null: nothing to find
  const float* w = nullptr;
  CellFilters layout = {};
};

// One launch for all.
void find_largest(const LargestOfImages& first, const LargestOfImages& second,
                  const LargestOfFilters& filters, const Stream& stream);

// The largest value over all images. Every lane of a warp calls it.
__device__ __forceinline__ std::uint32_t largest_of(const std::uint32_t* parts) {
  const uint4 four = reinterpret_cast<const uint4*>(parts)[threadIdx.x % device::kWarpSize];
  return device::warp_reduce(max(max(four.x, four.y), max(four.z, four.w)), device::Larger());
}

}  // namespace weft::kernels::cuda

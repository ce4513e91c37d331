// SPDX-License-Identifier: MIT
// Largest absolute values (largest.cuh). 128 blocks read the images, 16 bytes at a time where they
// are aligned, and one block more reads each filter.
#include "engine/launch.h"
#include "kernels/conv/parts/largest.cuh"
#include "kernels/device/block.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kThreads = 512;

// What this thread finds of a part of the values.
__device__ __forceinline__ std::uint32_t find_in_images(const LargestOfImages& images, int part) {
  std::uint32_t found = 0;
  const std::int64_t step = std::int64_t{kLargestParts} * kThreads;
  const std::int64_t thread = std::int64_t{part} * kThreads + threadIdx.x;
  const bool vector = reinterpret_cast<std::uintptr_t>(images.x) % 16 == 0;
  const std::int64_t quads = vector ? images.count / 4 : 0;
#pragma unroll 4
  for (std::int64_t i = thread; i < quads; i += step) {
    const float4 value = __ldg(reinterpret_cast<const float4*>(images.x) + i);
    for (const float v : {value.x, value.y, value.z, value.w}) found = device::larger(found, v);
  }
  for (std::int64_t i = 4 * quads + thread; i < images.count; i += step) {
    found = device::larger(found, __ldg(images.x + i));
  }
  return found;
}

__device__ __forceinline__ std::uint32_t find_in_filter(const LargestOfFilters& filters, int row) {
  const CellFilters& p = filters.layout;
  const std::int64_t taps = p.taps_h * p.taps_w;
  std::uint32_t found = 0;
  for (std::int64_t i = threadIdx.x; i < p.channels * taps; i += kThreads) {
    // Whatever the order of its taps, a channel of a filter is contiguous.
    const float* channel = filters.w + row * p.row_stride + i / taps * p.channel_stride;
    found = device::larger(found, __ldg(channel + i % taps));
  }
  return found;
}

__global__ void __launch_bounds__(kThreads)
    largest_kernel(LargestOfImages first, LargestOfImages second, LargestOfFilters filters) {
  __shared__ device::BlockReduceStorage<std::uint32_t, kThreads> storage;
  int block = static_cast<int>(blockIdx.x);
  std::uint32_t found = 0, *to = nullptr;
  const auto take = [&](const LargestOfImages& images) {
    if (to != nullptr || images.parts == nullptr) return;
    if (block < kLargestParts) {
      to = images.parts + block;
      found = find_in_images(images, block);
    }
    block -= kLargestParts;
  };
  take(first);
  take(second);
  if (to == nullptr) {
    to = filters.rows + block;
    found = find_in_filter(filters, block);
  }
  found = device::block_reduce<kThreads, true>(found, device::Larger(), storage);
  if (threadIdx.x == 0) *to = found;
}

}  // namespace

void find_largest(const LargestOfImages& first, const LargestOfImages& second,
                  const LargestOfFilters& filters, const Stream& stream) {
  std::int64_t blocks = filters.rows == nullptr ? 0 : filters.layout.rows;
  for (const LargestOfImages* images : {&first, &second}) {
    if (images->parts != nullptr) blocks += kLargestParts;
  }
  launch(largest_kernel,
         {static_cast<unsigned>(blocks), static_cast<unsigned>(kThreads), 0, stream}, first, second,
         filters);
}

}  // namespace weft::kernels::cuda

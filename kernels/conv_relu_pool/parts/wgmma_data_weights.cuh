// SPDX-License-Identifier: MIT
// The weights of the data gradient of conv_relu_pool on wgmma, in shared memory. sm_90a.
#pragma once

#include "kernels/conv_relu_pool/parts/wgmma_data.cuh"

namespace weft::kernels::cuda::pool_data {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// The largest weight of each channel from channel0 on; a barrier must follow.
__device__ __forceinline__ void find_largest_weights(std::uint32_t* largest, const DataPlan& p,
                                                     int channel0) {
  const int channels = min(p.channels - channel0, kHalvesChannels);
  find_largest_rows<kThreads, kHalvesChannels>(largest, p.filters * kPoolTaps, [&](int row, int i) {
    const std::int64_t filter = i / kPoolTaps, channel = channel0 + row;
    return row < channels ? __ldg(p.w + (filter * p.channels + channel) * kPoolTaps + i % kPoolTaps)
                          : 0.0f;
  });
}

// Weights (group, tap, quad, row) of quads in halves; the quad is along the filters. 16 rows are
// the big parts of 8 channels and then the small ones.
__device__ __forceinline__ void load_half_weights(char* to, const DataPlan& p, int channel0,
                                                  const std::uint32_t* largest) {
  constexpr int kFilters = kQuadChannels<CellType::halves>;
  constexpr int kPlanes = kCellPlanes<CellType::halves>;
  const int quads = p.groups * kPlanes;
  for (int i = threadIdx.x; i < kHalvesChannels * quads * kPoolTaps; i += kThreads) {
    const int tap = i % kPoolTaps, channel = i / kPoolTaps % kHalvesChannels;
    const int quad = i / kPoolTaps / kHalvesChannels;
    float value[kFilters];
#pragma unroll
    for (int f = 0; f < kFilters; ++f) {
      const int filter = quad * kFilters + f;
      const bool there = filter < p.filters && channel0 + channel < p.channels;
      const float* w = p.w + (std::int64_t{filter} * p.channels + channel0 + channel) * kPoolTaps;
      value[f] = there ? __ldg(w + (kPoolTaps - 1 - tap)) : 0.0f;  // turned around
    }
    const HalfQuads halves(value, device::half_shift(largest[channel]), device::kSmallScale);
    auto* at = reinterpret_cast<uint4*>(to + quad / kPlanes * p.group_bytes +
                                        (tap * kPlanes + quad % kPlanes) * p.row_bytes) +
               channel / 8 * 16 + channel % 8;
    at[0] = halves.big;
    at[8] = halves.small;
  }
}

// Weights (group, tap, quad, row) of quads; the quad is along the filters.
template <CellType kType, bool kPaired>
__device__ __forceinline__ void load_weights(char* to, const DataPlan& p, int channel0) {
  constexpr int kFilters = kQuadChannels<kType>, kTapRows = kPoolKernel + kPaired;
  const int all_rows = p.row_bytes / 16, quads = p.groups * kCellQuads;
  for (int i = threadIdx.x; i < all_rows * quads * kTapRows * kPoolKernel; i += kThreads) {
    const int tap = i % (kTapRows * kPoolKernel), row = i / (kTapRows * kPoolKernel) % all_rows;
    const int quad = i / (kTapRows * kPoolKernel) / all_rows;
    const int channel = channel0 + (kPaired ? row % 32 : row);
    const int r = tap / kPoolKernel - (kPaired ? row / 32 : 0);
    const bool inside = r >= 0 && r < kPoolKernel && channel < p.channels;
    // Turned around.
    const int from_tap = kPoolTaps - 1 - (r * kPoolKernel + tap % kPoolKernel);
    float value[kFilters];
#pragma unroll
    for (int f = 0; f < kFilters; ++f) {
      const int filter = quad * kFilters + f;
      const std::int64_t from = (std::int64_t{filter} * p.channels + channel) * kPoolTaps;
      value[f] = inside && filter < p.filters ? __ldg(p.w + from + from_tap) : 0.0f;
    }
    char* at = to + quad / kCellQuads * p.group_bytes +
               (tap * kCellQuads + quad % kCellQuads) * p.row_bytes + 16 * row;
    *reinterpret_cast<uint4*>(at) = make_quad<kType>(value);
  }
}

#endif

}  // namespace weft::kernels::cuda::pool_data

// SPDX-License-Identifier: MIT
// The weights of the data gradient of conv_relu_pool on wgmma, in shared memory. Consumers load
// them. sm_90a.
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
  for (int i = threadIdx.x - kProducers; i < kHalvesChannels * quads * kPoolTaps;
       i += kConsumers * kWarpgroup) {
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

// Weights (group, tap, quad, row) of quads; the quad is along the filters. A thread has all taps of
// a channel for the filters of a quad.
template <CellType kType, bool kPaired>
__device__ __forceinline__ void load_weights(char* to, const DataPlan& p, int channel0) {
  constexpr int kFilters = kQuadChannels<kType>, kTapRows = kPoolKernel + kPaired;
  const int rows = kPaired ? 32 : p.row_bytes / 16, quads = p.groups * kCellQuads;
  for (int i = threadIdx.x - kProducers; i < rows * quads; i += kConsumers * kWarpgroup) {
    const int row = i % rows, quad = i / rows, channel = channel0 + row;
    float value[kPoolTaps][kFilters];
#pragma unroll
    for (int f = 0; f < kFilters; ++f) {
      const int filter = quad * kFilters + f;
      const bool there = filter < p.filters && channel < p.channels;
      const float* w = p.w + (std::int64_t{filter} * p.channels + channel) * kPoolTaps;
#pragma unroll
      for (int tap = 0; tap < kPoolTaps; ++tap) {
        value[tap][f] = there ? __ldg(w + (kPoolTaps - 1 - tap)) : 0.0f;  // turned around
      }
    }
    uint4 of_tap[kPoolTaps];
#pragma unroll
    for (int tap = 0; tap < kPoolTaps; ++tap) of_tap[tap] = make_quad<kType>(value[tap]);
    char* first = to + quad / kCellQuads * p.group_bytes + quad % kCellQuads * p.row_bytes;
#pragma unroll
    for (int parity = 0; parity <= kPaired; ++parity) {
#pragma unroll
      for (int r = 0; r < kTapRows; ++r) {
#pragma unroll
        for (int s = 0; s < kPoolKernel; ++s) {
          const int tap = (r - parity) * kPoolKernel + s;
          char* at =
              first + (r * kPoolKernel + s) * kCellQuads * p.row_bytes + 16 * (row + 32 * parity);
          const bool inside = tap >= 0 && tap < kPoolTaps;
          *reinterpret_cast<uint4*>(at) = inside ? of_tap[inside ? tap : 0] : uint4{};
        }
      }
    }
  }
}

#endif

}  // namespace weft::kernels::cuda::pool_data

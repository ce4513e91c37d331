// SPDX-License-Identifier: MIT
// The plan of the data gradient of conv_relu_pool on wgmma, and how its sums reach dx. sm_90a.
#pragma once

#include <algorithm>

#include "engine/launch.h"
#include "kernels/conv_relu_pool/parts/wgmma.h"
#include "kernels/conv_relu_pool/parts/image_ring.cuh"
#include "kernels/device/dynamic_shared.cuh"

namespace weft::kernels::cuda::pool_data {

using device::FastDivide;

constexpr int kConsumers = 3, kThreads = (1 + kConsumers) * kWarpgroup;
constexpr int kN = 128, kTilePixels = kConsumers * kN;
constexpr int kSpan = kPoolKernel - 1;  // that a window reaches beyond its pixel

struct DataPlan {
  const float* dy;             // (n, filters, rows, columns)
  const std::uint8_t* argmax;  // of dy
  const float* w;              // (filters, channels, 3, 3)
  float* dx;                   // (n, channels, height, width)
  const float* relu_mask;      // of dx, or null
  int filters, rows, columns, channels, height, width;
  int top, left;           // of the border of dz
  int groups, row_blocks;  // of filters: slots to an item; of channels
  int row_bytes;           // weights of one quad of one tap
  int group_bytes;         // weights of one group
  int tile_rows;           // of dx in a tile
  int slot_rows, pitch;    // pixels of dz in a slot
  int parity;              // pixels from an even row to the odd row behind it; kPaired
  int plane, slots;        // plane: quads
  FastDivide by_windows, by_window_columns;  // that a slot touches: all, columns
  FastDivide by_tiles, by_pitch;             // of an item: tile, image; of a pixel
  int items;
  bool accumulate;
  bool pairs;  // overwrites, and two neighbours lie in 8 aligned bytes of one row
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// To which rows and pixels of dx a thread's sums belong.
template <bool kPaired>
struct Place {
  const DataPlan& p;
  int row0, end, parity, pixel0;
  int channels;        // of the thread's two that exist
  std::int64_t first;  // element 0 of its channel

  __device__ Place(const DataPlan& plan, std::int64_t image, int row, int pixel, int channel0)
      : p(plan), row0(row), end(min(row + plan.tile_rows, plan.height)) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x % kWarpgroup / 32;
    parity = kPaired ? warp / 2 : 0;
    pixel0 = pixel + 2 * (lane % 4);
    const int channel = channel0 + 16 * (kPaired ? warp % 2 : warp) + lane / 4;
    channels = channel >= p.channels ? 0 : channel + 8 >= p.channels ? 1 : 2;
    first = (image * p.channels + channel) * p.height * p.width;
  }
  // Where the channel's pair j lies in its plane, or below 0.
  __device__ int at(int j, int i) const {
    int column = 0;
    const int line = p.by_pitch.divide(pixel0 + 8 * j + i, column);
    const int row = row0 + (kPaired ? 2 * line + parity : line);
    return row < end && column < p.width ? row * p.width + column : -1;
  }
};

// Stores the sums of a warpgroup, two neighbours at a time. The masks of several come first, all in
// flight together.
template <bool kPaired>
__device__ __forceinline__ void store_pairs(const Place<kPaired>& place,
                                            const float (&sum)[kN / 2]) {
  constexpr int kBatch = 4;
  const DataPlan& p = place.p;
  const unsigned plane = static_cast<unsigned>(p.height * p.width);
  float* dx = device::opaque(p.dx + place.first);
  const float* mask = device::opaque(p.relu_mask + place.first);
#pragma unroll
  for (int batch = 0; batch < kN / 8; batch += kBatch) {
    int at[kBatch];
    float2 masks[kBatch][2];
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
      at[j] = place.at(batch + j, 0);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const bool masked = p.relu_mask != nullptr && at[j] >= 0 && half < place.channels;
        const float* from = mask + (static_cast<unsigned>(at[j]) + 8 * half * plane);
        masks[j][half] = masked ? *reinterpret_cast<const float2*>(from) : float2{1, 1};
      }
    }
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if (at[j] < 0 || half >= place.channels) continue;
        auto* to =
            reinterpret_cast<float2*>(dx + (static_cast<unsigned>(at[j]) + 8 * half * plane));
        const float* values = sum + 4 * (batch + j) + 2 * half;
        float2 value = {values[0], values[1]};
        if (!(masks[j][half].x > 0)) value.x = 0;
        if (!(masks[j][half].y > 0)) value.y = 0;
        *to = value;
      }
    }
  }
}

// The same for rows of any length and alignment, and for accumulation.
template <bool kPaired>
__device__ __forceinline__ void store_singly(const Place<kPaired>& place,
                                             const float (&sum)[kN / 2]) {
  const DataPlan& p = place.p;
#pragma unroll
  for (int k = 0; k < kN / 2; ++k) {
    const int half = k / 2 % 2, at = place.at(k / 4, k % 2);
    if (at < 0 || half >= place.channels) continue;
    const std::int64_t to = place.first + std::int64_t{8} * half * p.height * p.width + at;
    float value = sum[k];
    if (p.accumulate) value += p.dx[to];
    if (p.relu_mask != nullptr && !(p.relu_mask[to] > 0)) value = 0;
    p.dx[to] = value;
  }
}

#endif

}  // namespace weft::kernels::cuda::pool_data

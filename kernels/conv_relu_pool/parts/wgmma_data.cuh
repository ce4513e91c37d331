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

constexpr int kProducers = 2 * kWarpgroup, kConsumers = 3;
constexpr int kThreads = kProducers + kConsumers * kWarpgroup;
constexpr int kN = 128, kTilePixels = kConsumers * kN;
constexpr int kHalvesChannels = kTensorRows / 2;  // of a block: rows are big and small parts
constexpr int kSpan = kPoolKernel - 1;  // that a window reaches beyond its pixel

struct DataPlan {
  const float* dy;             // (n, filters, rows, columns)
  const std::uint8_t* argmax;  // of dy
  const float* w;              // (filters, channels, 3, 3)
  float* dx;                   // (n, channels, height, width)
  const float* relu_mask;      // of dx, or null
  const std::uint32_t* largest;  // of dy, in parts (largest.cuh); for halves
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

// Where in a channel the pixels of a tile lie, from the tile's first row on; below 0: nowhere. All
// threads call it, and a barrier must follow.
template <bool kPaired>
__device__ __forceinline__ void find_places(int* places, const DataPlan& p) {
  for (int pixel = threadIdx.x; pixel < kTilePixels; pixel += kThreads) {
    int column = 0;
    const int line = p.by_pitch.divide(pixel, column);
    places[pixel] = column < p.width ? (kPaired ? 2 : 1) * line * p.width + column : -1;
  }
}

// What of dx a thread's sums belong to: two channels, or one in halves, where those of two rows of
// the product have been added.
template <bool kPaired, bool kHalves>
struct Place {
  static constexpr int kChannels = kHalves ? 1 : 2;
  const int* places;
  std::int64_t first;         // element of dx at place 0 of its first channel
  unsigned next;              // elements to the second one
  unsigned limit[kChannels];  // places below it are in the image; 0: there is no such channel

  __device__ __forceinline__ Place(const DataPlan& p, const int* table, std::int64_t image,
                                   int row0, int pixel0, int channel0)
      : next(static_cast<unsigned>(8 * p.height * p.width)) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x % kWarpgroup / 32;
    const int parity = kPaired ? warp / 2 : 0;
    const int channel =
        channel0 + (kHalves ? 8 * warp : 16 * (kPaired ? warp % 2 : warp)) + lane / 4;
    places = table + pixel0 + 2 * (lane % 4);
    first = ((image * p.channels + channel) * p.height + row0 + parity) * p.width;
    const int rows = min(p.tile_rows, p.height - row0) - parity;
#pragma unroll
    for (int i = 0; i < kChannels; ++i) {
      limit[i] = channel + 8 * i < p.channels ? static_cast<unsigned>(max(rows * p.width, 0)) : 0;
    }
  }
};

// Stores the sums of a warpgroup, two neighbours at a time. The masks of several come first, all in
// flight together.
template <bool kPaired, bool kHalves>
__device__ __forceinline__ void store_pairs(const DataPlan& p, const Place<kPaired, kHalves>& place,
                                            const float (&sum)[kN / 2]) {
  constexpr int kChannels = Place<kPaired, kHalves>::kChannels, kBatch = 8 / kChannels;
  float* dx = device::opaque(p.dx + place.first);
  const bool masked = p.relu_mask != nullptr;
  const float* mask = device::opaque(masked ? p.relu_mask + place.first : dx);
#pragma unroll
  for (int batch = 0; batch < kN / 8; batch += kBatch) {
    unsigned at[kBatch];
    float2 masks[kBatch][kChannels];
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
      at[j] = static_cast<unsigned>(place.places[8 * (batch + j)]);
#pragma unroll
      for (int i = 0; i < kChannels; ++i) {
        const bool there = masked && at[j] < place.limit[i];
        const float* from = mask + (at[j] + i * place.next);
        masks[j][i] = there ? *reinterpret_cast<const float2*>(from) : float2{1, 1};
      }
    }
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
#pragma unroll
      for (int i = 0; i < kChannels; ++i) {
        const float* values = sum + 4 * (batch + j) + 2 * i;
        const float2 value = {masks[j][i].x > 0 ? values[0] : 0, masks[j][i].y > 0 ? values[1] : 0};
        if (at[j] < place.limit[i]) {
          *reinterpret_cast<float2*>(dx + (at[j] + i * place.next)) = value;
        }
      }
    }
  }
}

// The same for rows of any length and alignment, and for accumulation.
template <bool kPaired, bool kHalves>
__device__ __forceinline__ void store_singly(const DataPlan& p,
                                             const Place<kPaired, kHalves>& place,
                                             const float (&sum)[kN / 2]) {
#pragma unroll
  for (int k = 0; k < kN / 2; ++k) {
    const int i = k / 2 % 2;
    if (i >= Place<kPaired, kHalves>::kChannels) continue;
    const auto at = static_cast<unsigned>(place.places[k / 4 * 8 + k % 2]);
    if (at >= place.limit[i % Place<kPaired, kHalves>::kChannels]) continue;
    const std::int64_t to = place.first + (at + i * place.next);
    float value = sum[k];
    if (p.accumulate) value += p.dx[to];
    if (p.relu_mask != nullptr && !(p.relu_mask[to] > 0)) value = 0;
    p.dx[to] = value;
  }
}

#endif

}  // namespace weft::kernels::cuda::pool_data

// SPDX-License-Identifier: MIT
// The plan of the data gradient of conv_relu_pool on wgmma, and how its sums reach dx. sm_90a.
#pragma once

#include <algorithm>

#include "engine/launch.h"
#include "kernels/conv_relu_pool/parts/image_ring.cuh"
#include "kernels/conv_relu_pool/parts/wgmma.h"
#include "kernels/device/dynamic_shared.cuh"

namespace weft::kernels::cuda::pool_data {

using device::FastDivide;

constexpr int kProducers = kWarpgroup, kConsumers = 3;
constexpr int kThreads = kProducers + kConsumers * kWarpgroup;
constexpr int kN = 128, kTilePixels = kConsumers * kN;
constexpr int kHalvesChannels = kTensorRows / 2;  // of a block: rows are big and small parts
constexpr int kStagedFloats = 512;                // of a consuming warp
constexpr int kStagedBytes = 4 * kStagedFloats * kConsumers * kWarpgroup / 32;
constexpr int kSpan = kPoolKernel - 1;  // that a window reaches beyond its pixel

struct DataPlan {
  const float* dy;               // (n, filters, rows, columns)
  const std::uint8_t* argmax;    // of dy
  const float* w;                // (filters, channels, 3, 3)
  float* dx;                     // (n, channels, height, width)
  const float* relu_mask;        // of dx, or null
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
  FastDivide by_pairs;                       // of a pair of windows: columns / 2
  int items;
  bool accumulate;
  bool whole;  // windows of an image are one tile, and lie in aligned pairs
  bool pairs;  // overwrites, and two neighbours lie in 8 aligned bytes of one row
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Prefetches what the consumers need at the end of an image, and what the producers need of the
// next image (or -1). One thread of each calls it with its first tile.
__device__ __forceinline__ void prefetch(const DataPlan& p, std::int64_t image, int tile,
                                         std::int64_t next, int next_tile) {
  const std::int64_t pixels = std::int64_t{p.channels} * p.height * p.width;
  const std::int64_t windows = std::int64_t{p.filters} * p.rows * p.columns;
  if (p.relu_mask != nullptr && tile == 0) device::prefetch(p.relu_mask + image * pixels, pixels);
  if (next < 0 || next_tile != 0) return;
  device::prefetch(p.dy + next * windows, windows);
  device::prefetch(p.argmax + next * windows, windows);
}

// Where the pixels of a tile lie in a plane whose rows have this width, from the tile's first row
// on; below 0: nowhere. All threads call it, and a barrier must follow.
template <bool kPaired>
__device__ __forceinline__ void find_places(int* places, const DataPlan& p, int width) {
  for (int pixel = threadIdx.x; pixel < kTilePixels; pixel += kThreads) {
    int column = 0;
    const int line = p.by_pitch.divide(pixel, column);
    places[pixel] = column < p.width ? (kPaired ? 2 : 1) * line * width + column : -1;
  }
}

// Adds the sums of both parts of the weights of a channel, and takes back the scales.
__device__ __forceinline__ void join_parts(float (&sum)[kN / 2], int shift) {
  const device::HalfScale scale = device::unscale(shift);
#pragma unroll
  for (int i = 0; i < kN / 2; i += 4) {
    sum[i] = scale(fmaf(sum[i + 2], 1 / device::kSmallScale, sum[i]));
    sum[i + 1] = scale(fmaf(sum[i + 3], 1 / device::kSmallScale, sum[i + 1]));
  }
}

// The part of dx that the sums of a warp belong to: channels of 128 pixels. In halves, those of two
// rows of the product have been added. The sums go through `staged`, as rows of pixels, so that
// lanes store neighbours, two at a time: sectors of 32 bytes that stores fill in part are slow.
template <bool kPaired, bool kHalves>
struct Place {
  static constexpr int kChannels = kHalves ? 8 : 16;
  static constexpr int kPixels = kStagedFloats / kChannels;              // of a batch
  static constexpr int kLanes = kPixels / 2;                             // of a row
  static constexpr int kRows = 32 / kLanes, kTurns = kChannels / kRows;  // rows at a time
  static constexpr int kBatches = kN / kPixels;

  const DataPlan& p;
  const int* places;  // of this lane's pair of pixels, in the first batch
  float* dx;          // at place 0 of this lane's first channel
  const float* mask;
  int channels;    // that exist, from there on
  unsigned limit;  // places below it are in the image

  __device__ __forceinline__ Place(const DataPlan& plan, const int* table, std::int64_t image,
                                   int row0, int pixel0, int channel0)
      : p(plan) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x % kWarpgroup / 32;
    const int parity = kPaired ? warp / 2 : 0;
    const int channel = channel0 + kChannels * (kPaired ? warp % 2 : warp) + lane / kLanes;
    const std::int64_t first =
        ((image * p.channels + channel) * p.height + row0 + parity) * p.width;
    places = table + pixel0 + 2 * (lane % kLanes);
    dx = device::opaque(p.dx + first);
    mask = device::opaque(p.relu_mask + first);
    channels = p.channels - channel;
    limit = static_cast<unsigned>(max(min(p.tile_rows, p.height - row0) - parity, 0) * p.width);
  }
  __device__ __forceinline__ bool has(int turn, unsigned at) const {
    return turn * kRows < channels && at < limit;
  }
  __device__ __forceinline__ unsigned offset(int turn, unsigned at) const {
    return at + static_cast<unsigned>(turn * kRows) * static_cast<unsigned>(p.height * p.width);
  }

  // Starts loading the masks of a batch.
  __device__ __forceinline__ void load_masks(float2 (&masks)[kTurns], int batch) const {
    const auto left = static_cast<unsigned>(places[batch * kPixels]);
    const bool masked = p.relu_mask != nullptr;
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      const auto* from = reinterpret_cast<const float2*>(mask + offset(turn, left));
      masks[turn] = masked && has(turn, left) ? __ldg(from) : float2{1, 1};
    }
  }

  // Stores a pair of sums.
  __device__ __forceinline__ void store_pair(float2 value, const float2& masks, int turn,
                                             unsigned left) const {
    if (!(masks.x > 0)) value.x = 0;
    if (!(masks.y > 0)) value.y = 0;
    if (has(turn, left)) *reinterpret_cast<float2*>(dx + offset(turn, left)) = value;
  }
  // The same where pairs are not aligned, and for accumulation.
  __device__ __forceinline__ void store_one(float value, int turn, unsigned at) const {
    if (!has(turn, at)) return;
    const unsigned to = offset(turn, at);
    if (p.accumulate) value += dx[to];
    dx[to] = p.relu_mask == nullptr || mask[to] > 0 ? value : 0;
  }

  // Stores the sums of the warp. kPairs: two at a time.
  template <bool kPairs>
  __device__ __forceinline__ void store(const float (&sum)[kN / 2], float* staged) const {
    const int lane = threadIdx.x % 32, group = lane / 4, member = lane % 4;
    const auto at = [](int row, int pixel) { return row * kPixels + (pixel ^ row % 4 * 8); };
#pragma unroll
    for (int batch = 0; batch < kBatches; ++batch) {
      float2 masks[kTurns];
      if constexpr (kPairs) load_masks(masks, batch);
      __syncwarp();  // the batch before has been read
#pragma unroll
      for (int j = 0; j < kPixels / 8; ++j) {
#pragma unroll
        for (int half = 0; half < kChannels / 8; ++half) {
          const float* values = sum + 4 * (batch * (kPixels / 8) + j) + 2 * half;
          float* to = staged + at(group + 8 * half, 8 * j + 2 * member);
          *reinterpret_cast<float2*>(to) = {values[0], values[1]};
        }
      }
      __syncwarp();
      const auto left = static_cast<unsigned>(places[batch * kPixels]);
      const auto right = static_cast<unsigned>(places[batch * kPixels + 1]);
      const auto value = [&](int turn) {
        const int row = turn * kRows + lane / kLanes;
        return *reinterpret_cast<const float2*>(staged + at(row, 2 * (lane % kLanes)));
      };
      if constexpr (kPairs) {
#pragma unroll
        for (int turn = 0; turn < kTurns; ++turn) store_pair(value(turn), masks[turn], turn, left);
      } else {
#pragma unroll 1
        for (int turn = 0; turn < kTurns; ++turn) {
          const float2 two = value(turn);
          store_one(two.x, turn, left);
          store_one(two.y, turn, right);
        }
      }
    }
  }
};

#endif

}  // namespace weft::kernels::cuda::pool_data

// SPDX-License-Identifier: MIT
// Decoupled look-back: one pass, 2n elements of traffic (Merrill and Garland, 2016).
//
// A block takes the next tile, scans it in registers and publishes its total. What comes before the
// tile it learns by looking back: at the totals of the tiles to its left, up to the nearest one
// that already knows its prefix. Then it publishes its own prefix, and stores.
//
//   tile        ...  t-5      t-4     t-3     t-2     t-1    t
//   published        prefix   total   total   total   total  ?
//   prefix(t-1) =  ((((prefix(t-5) op total) op total) op total) op total)
//
// One warp looks, at 32 descriptors a time. It combines them from left to right, one by one, and
// a prefix is always the prefix to its left combined with one total: however far a block happened
// to look, the result has the same bits, for floats too.
//
// Tiles are numbered in the order in which blocks start, so that a block only ever waits for blocks
// that run. It looks back at most kWindows * 32 tiles and there waits for a prefix.
#pragma once

#include "engine/launch.h"
#include "kernels/device/descriptor.cuh"
#include "kernels/device/scan.cuh"
#include "kernels/scan/parts/workspace.h"

namespace weft::kernels::cuda {

constexpr int kScanWindows = 4;

// Counter and descriptors to zero: no tile is taken, all descriptors are empty.
template <class Word>
__global__ void scan_clear_kernel(Word* words, std::int64_t count) {
  const std::int64_t i = device::global_thread();
  if (i < count) words[i] = 0;
}

// What comes before `tile`, to all lanes of the warp that calls it.
template <class T, class Op>
__device__ __forceinline__ T look_back(const device::DescriptorWord* descriptors, std::int64_t tile,
                                       Op op) {
  using device::TileState;
  const int lane = static_cast<int>(threadIdx.x) % device::kWarpSize;
  T values[kScanWindows];  // window w: tiles [tile - 32 (w + 1), tile - 32 w), one per lane
  int used = 0;
#pragma unroll
  for (int w = 0; w < kScanWindows; ++w) {
    values[w] = Op::identity();
    if (used < w) continue;  // a prefix was found: the same for all lanes
    const std::int64_t index = tile - device::kWarpSize * (w + 1) + lane;
    int nearest = -1;  // lane of the nearest prefix
    bool ready = false;
    while (!ready) {
      TileState state = TileState::prefix;  // before the first tile there is nothing
      values[w] = Op::identity();
      if (index >= 0) state = device::inspect(descriptors, index, values[w]);
      const unsigned prefixes = __ballot_sync(device::kFullWarp, state == TileState::prefix);
      const unsigned missing = __ballot_sync(device::kFullWarp, state == TileState::empty);
      nearest = device::kWarpSize - 1 - __clz(static_cast<int>(prefixes));
      const unsigned needed = nearest < 0 ? device::kFullWarp : device::kFullWarp << nearest;
      ready = (missing & needed) == 0 && (nearest >= 0 || w + 1 < kScanWindows);
    }
    if (lane < nearest) values[w] = Op::identity();
    if (nearest < 0) used = w + 1;
  }
  T before = Op::identity();
#pragma unroll
  for (int w = kScanWindows - 1; w >= 0; --w) {
    if (w > used) continue;
#pragma unroll
    for (int from = 0; from < device::kWarpSize; ++from) {
      before = op(before, device::shuffle(values[w], from));
    }
  }
  return before;
}

template <class T, class Op>
__global__ void __launch_bounds__(kScanTileThreads)
    scan_decoupled_lookback_kernel(T* y, const T* x, std::int64_t n,
                                   device::DescriptorWord* counter,
                                   device::DescriptorWord* descriptors, bool exclusive, Op op) {
  using Tile = device::ScanTile<T, kScanTileThreads, kScanTileRows>;
  __shared__ typename Tile::Storage storage;
  __shared__ std::int64_t taken;
  __shared__ T shared_prefix;
  const bool alone = gridDim.x == 1;
  if (threadIdx.x == 0) {
    taken = alone ? 0 : static_cast<std::int64_t>(atomicAdd(counter, device::DescriptorWord(1)));
  }
  __syncthreads();  // the tile is known to all threads
  const std::int64_t tile = taken;
  const std::int64_t first = tile * Tile::kElements;
  typename Tile::Items items;
  T before[Tile::kRows];
  Tile::load(items, x, first, n, Op::identity());
  const T total = Tile::scan(items, before, op, storage);
  T prefix = Op::identity();
  if (!alone) {
    if (threadIdx.x < device::kWarpSize) {
      if (threadIdx.x == 0) {
        const device::TileState state =
            tile == 0 ? device::TileState::prefix : device::TileState::total;
        device::publish(descriptors, tile, state, total);
      }
      if (tile > 0) {
        prefix = look_back<T>(descriptors, tile, op);
        if (threadIdx.x == 0) {
          device::publish(descriptors, tile, device::TileState::prefix, op(prefix, total));
        }
      }
      if (threadIdx.x == 0) shared_prefix = prefix;
    }
    __syncthreads();  // the prefix is known to all warps
    prefix = shared_prefix;
  }
  Tile::store(y, items, before, prefix, first, n, exclusive, op);
}

struct DecoupledLookback {
  template <class T, class Op>
  static void run(T* y, const T* x, std::int64_t n, bool exclusive, Op op, void* workspace,
                  const Stream& stream) {
    if (n == 0) return;
    const unsigned tiles = blocks_for(n, scan_tile(sizeof(T)));
    device::DescriptorWord* words = static_cast<device::DescriptorWord*>(workspace);
    if (tiles > 1) {
      const std::int64_t count = scan_lookback_words(n, sizeof(T));
      launch(scan_clear_kernel<device::DescriptorWord>,
             Launch{blocks_for(count, 256), 256, 0, stream}, words, count);
    }
    launch(scan_decoupled_lookback_kernel<T, Op>, Launch{tiles, kScanTileThreads, 0, stream}, y, x,
           n, words, words + 1, exclusive, op);
  }
};

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// One cooperative kernel: reduce, wait for the whole grid, scan.
//
//   1  each block sums its piece of the array, tile by tile, to totals[block]
//   2  grid barrier
//   3  each block combines the totals before its own, in order, and scans its piece from there
//
// The array is read twice and written once, 3n elements, and the second reading of an array that
// fits the L2 cache does not come from memory. All blocks must be resident, so their number is
// limited and each loops. The grouping of sums follows from n and the number of resident blocks.
#pragma once

#include <cooperative_groups.h>

#include "engine/launch.h"
#include "kernels/device/scan.cuh"
#include "kernels/scan/parts/workspace.h"

namespace weft::kernels::cuda {

template <class T, class Op>
__global__ void __launch_bounds__(kScanTileThreads)
    scan_grid_sync_kernel(T* y, T* totals, const T* x, std::int64_t n, std::int64_t piece,
                          bool exclusive, Op op) {
  using Tile = device::ScanTile<T, kScanTileThreads, kScanTileRows>;
  __shared__ typename Tile::Storage storage;
  typename Tile::Items items;
  T before[Tile::kRows];
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * piece;
  const std::int64_t end = begin + piece < n ? begin + piece : n;
  T carry = Op::identity();
  for (std::int64_t first = begin; first < end; first += Tile::kElements) {
    Tile::load(items, x, first, n, Op::identity());
    carry = op(carry, Tile::scan(items, before, op, storage));
  }
  if (threadIdx.x == 0) totals[blockIdx.x] = carry;
  cooperative_groups::this_grid().sync();  // all totals are written before any block reads them
  static_assert(kScanGridBlocks <= Tile::kElements, "one tile holds all totals");
  Tile::load(items, totals, 0, blockIdx.x, Op::identity());
  carry = Tile::scan(items, before, op, storage);
  for (std::int64_t first = begin; first < end; first += Tile::kElements) {
    Tile::load(items, x, first, n, Op::identity());
    const T total = Tile::scan(items, before, op, storage);
    Tile::store(y, items, before, carry, first, n, exclusive, op);
    carry = op(carry, total);
  }
}

struct GridSync {
  template <class T, class Op>
  static void run(T* y, const T* x, std::int64_t n, bool exclusive, Op op, void* workspace,
                  const Stream& stream) {
    if (n == 0) return;
    constexpr std::int64_t kTile = scan_tile(sizeof(T));
    const std::int64_t tiles = divide_up(n, kTile);
    const std::int64_t resident =
        resident_blocks(scan_grid_sync_kernel<T, Op>, kScanTileThreads, 0, stream);
    std::int64_t blocks = resident < kScanGridBlocks ? resident : kScanGridBlocks;
    if (tiles < blocks) blocks = tiles;
    const std::int64_t piece = divide_up(tiles, blocks) * kTile;
    const Launch config{blocks_for(n, piece), kScanTileThreads, 0, stream};
    launch(scan_grid_sync_kernel<T, Op>, config.cooperative(), y, static_cast<T*>(workspace), x, n,
           piece, exclusive, op);
  }
};

}  // namespace weft::kernels::cuda

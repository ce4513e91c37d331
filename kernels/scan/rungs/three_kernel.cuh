// SPDX-License-Identifier: MIT
// Scan of the tiles, scan of their totals, add: three kernels at full width. A thread holds 16
// floats in registers, loaded 16 bytes at a time (device/scan.cuh), so that a block of 256 threads
// scans 4096 of them with two barriers. What is left to gain is the traffic: 4n elements instead of
// 2n.
#pragma once

#include "kernels/device/scan.cuh"
#include "kernels/scan/parts/levels.cuh"

namespace weft::kernels::cuda {

template <class T, class Op>
__global__ void __launch_bounds__(kScanTileThreads)
    scan_tile_kernel(T* y, T* totals, const T* x, std::int64_t n, bool exclusive, Op op) {
  using Tile = device::ScanTile<T, kScanTileThreads, kScanTileRows>;
  __shared__ typename Tile::Storage storage;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * Tile::kElements;
  typename Tile::Items items;
  T before[Tile::kRows];
  Tile::load(items, x, first, n, Op::identity());
  const T total = Tile::scan(items, before, op, storage);
  Tile::store(y, items, before, Op::identity(), first, n, exclusive, op);
  if (totals != nullptr && threadIdx.x == 0) totals[blockIdx.x] = total;
}

struct ThreeKernel : ScanByLevels<ThreeKernel> {
  static constexpr int kThreads = kScanTileThreads;
  template <class T>
  static constexpr std::int64_t kSection = scan_tile(sizeof(T));
  static_assert(device::ScanTile<float, kScanTileThreads, kScanTileRows>::kElements ==
                    scan_tile(sizeof(float)),
                "the workspace counts other tiles");
  template <class T, class Op>
  static constexpr auto kernel = scan_tile_kernel<T, Op>;
};

}  // namespace weft::kernels::cuda

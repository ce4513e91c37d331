// SPDX-License-Identifier: MIT
// Elements of a block in several rungs, which their workspaces follow from.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/extent.h"

namespace weft::kernels::cuda {

constexpr int kScanBlock = 512;        // threads of the block-level rungs
constexpr int kScanTileThreads = 256;  // threads of a tile, see device/scan.cuh
constexpr int kScanTileRows = 4;       // 16-byte vectors per thread
constexpr int kScanGridBlocks = 1024;  // most blocks of grid_sync

// Elements of a 16-byte vector, and of the tiles.
constexpr std::int64_t scan_lanes(std::size_t element_bytes) {
  return 16 % element_bytes == 0 ? static_cast<std::int64_t>(16 / element_bytes) : 1;
}
constexpr std::int64_t scan_tile(std::size_t element_bytes) {
  return kScanTileThreads * kScanTileRows * scan_lanes(element_bytes);
}

// One counter, then the descriptors of all tiles (device/descriptor.cuh), in words of 8 bytes.
constexpr std::int64_t scan_lookback_words(std::int64_t n, std::size_t element_bytes) {
  const std::int64_t tile = scan_tile(element_bytes);
  return 1 + divide_up(n, tile) * static_cast<std::int64_t>(element_bytes / 4);
}

}  // namespace weft::kernels::cuda

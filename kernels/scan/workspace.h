// SPDX-License-Identifier: MIT
// Sections and workspace of the CUDA variants: what host code needs to know about the kernels.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::kernels::cuda {

constexpr int kScanBlock = 512;        // threads of the block-level rungs
constexpr int kScanTileThreads = 256;  // threads of a tile, see device/scan.cuh
constexpr int kScanTileRows = 4;       // 16-byte vectors per thread
constexpr int kScanGridBlocks = 1024;  // most blocks of grid_sync

// Elements of a tile.
constexpr std::int64_t scan_tile(std::size_t element_bytes) {
  const std::int64_t lanes =
      16 % element_bytes == 0 ? static_cast<std::int64_t>(16 / element_bytes) : 1;
  return kScanTileThreads * kScanTileRows * lanes;
}

// Totals of all levels above the array.
constexpr std::int64_t scan_level_elements(std::int64_t n, std::int64_t section) {
  std::int64_t elements = 0;
  while (n > section) {
    n = (n + section - 1) / section;
    elements += n;
  }
  return elements;
}

// One counter, then the descriptors of all tiles (device/descriptor.cuh), in words of 8 bytes.
constexpr std::int64_t scan_lookback_words(std::int64_t n, std::size_t element_bytes) {
  const std::int64_t tile = scan_tile(element_bytes);
  return 1 + (n + tile - 1) / tile * static_cast<std::int64_t>(element_bytes / 4);
}

}  // namespace weft::kernels::cuda

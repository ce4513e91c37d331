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
constexpr int kLookaheadThreads = 512;
constexpr int kLookaheadRows = 3;  // 16-byte vectors per thread, at most

// Elements of a 16-byte vector, and of the tiles.
constexpr std::int64_t scan_lanes(std::size_t element_bytes) {
  return 16 % element_bytes == 0 ? static_cast<std::int64_t>(16 / element_bytes) : 1;
}
constexpr std::int64_t scan_tile(std::size_t element_bytes) {
  return kScanTileThreads * kScanTileRows * scan_lanes(element_bytes);
}
constexpr std::int64_t lookahead_tile(std::size_t element_bytes, int rows) {
  return kLookaheadThreads * rows * scan_lanes(element_bytes);
}

// Rows of lookahead's tiles for n elements and so many resident blocks. A round costs what its tile
// does and about a row more, so large tiles are best for many rounds; where the blocks have one or
// two, the tiles that leave least of the last round empty.
constexpr int lookahead_rows(std::int64_t n, std::size_t element_bytes, std::int64_t blocks) {
  int best = kLookaheadRows;
  if (n <= lookahead_tile(element_bytes, best)) return best;  // one block, which asks nobody
  std::int64_t least = INT64_MAX;
  for (int rows = kLookaheadRows; rows > 0; --rows) {
    const std::int64_t round = blocks * lookahead_tile(element_bytes, rows);
    const std::int64_t cost = (n + round - 1) / round * (rows + 1);
    if (cost < least) least = cost, best = rows;
  }
  return best;
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

// SPDX-License-Identifier: MIT
// The tiles of the rungs that stage their elements in shared memory, and what they can hold.
#pragma once

#include "engine/extent.h"
#include "kernels/signal/signal.h"

namespace weft::kernels {

// The most taps that the rungs of rank 1 have room for, whose shared memory is of a fixed size.
constexpr std::int64_t kSignalTiledTaps = 512;

namespace signal_tile {

constexpr int kColumns = 32, kRows = 8;  // threads of a block of rung "tiled"
constexpr int kOutputs = 4;              // of a thread, apart in depth (rank 3) or in height

// Outputs of a block.
WEFT_HOST_DEVICE constexpr int depth(int rank) {
  return rank == 3 ? kOutputs : 1;
}
WEFT_HOST_DEVICE constexpr int height(int rank) {
  return rank == 3 ? kRows : kRows * kOutputs;
}

// Elements of a tile with its halo.
WEFT_HOST_DEVICE constexpr int elements(int rank, int filter_depth, int filter_height,
                                        int filter_width) {
  return (depth(rank) + filter_depth - 1) * (height(rank) + filter_height - 1) *
         (kColumns + filter_width - 1);
}

}  // namespace signal_tile

// Shared memory of a block of rung "tiled": the tile, and the filter behind it.
inline std::int64_t signal_tile_bytes(const SignalDims& dims) {
  return 4 * (signal_tile::elements(dims.rank(), static_cast<int>(dims.filter_depth),
                                    static_cast<int>(dims.filter_height),
                                    static_cast<int>(dims.filter_width)) +
              dims.taps());
}

}  // namespace weft::kernels

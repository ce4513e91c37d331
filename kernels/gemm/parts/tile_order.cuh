// SPDX-License-Identifier: MIT
// How the tiles of C are numbered: in groups of eight rows of tiles, column after column. Blocks
// that run at the same time then share operands in the L2 cache.
#pragma once

#include "engine/extent.h"
#include "kernels/gemm/gemm.h"

namespace weft::kernels::cuda {

struct TileOrder {
  int rows, columns;  // tiles

  static constexpr int kGroup = 8;
  __device__ void place(int tile, int& row, int& column) const {
    const int per_group = kGroup * columns;
    const int first = tile / per_group * kGroup;
    const int height = min(kGroup, rows - first), within = tile % per_group;
    row = first + within % height;
    column = within / height;
  }
};

template <class Tile>
TileOrder tile_order(const GemmDims& dims) {
  return {static_cast<int>(divide_up(dims.m, Tile::kM)),
          static_cast<int>(divide_up(dims.n, Tile::kN))};
}

}  // namespace weft::kernels::cuda

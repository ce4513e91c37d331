// SPDX-License-Identifier: MIT
// The transpose through shared memory, for rungs "tiled", "padded" and "swizzled". They differ in
// one thing: where element (row, column) of the tile lies in shared memory.
//
//   x, tile (a, b)              shared memory              y, tile (b, a)
//   a warp reads 32 columns --> stores them in a row
//   of one row                  loads a column         --> writes 32 columns of one row
//
// A block of 32 x 8 threads turns a tile of 32 x 32 elements, 4 for each thread. Reads and writes
// of global memory are 128 bytes in a row for each warp.
#pragma once

#include "engine/launch.h"
#include "kernels/transpose/launchers.h"

namespace weft::kernels::cuda {

constexpr int kTransposeTile = 32;
constexpr int kTransposeRows = 8;  // of a block

// A Layout has kFloats, and at(row, column): a different place below kFloats for each element.
template <class Layout>
__global__ void __launch_bounds__(kTransposeTile* kTransposeRows)
    transpose_tile_kernel(float* __restrict__ y, const float* __restrict__ x, std::int64_t rows,
                          std::int64_t cols, std::int64_t tiles_across, std::int64_t tiles) {
  __shared__ float tile[Layout::kFloats];
  const int tx = static_cast<int>(threadIdx.x), ty = static_cast<int>(threadIdx.y);
  for (std::int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const std::int64_t row0 = t / tiles_across * kTransposeTile;
    const std::int64_t column0 = t % tiles_across * kTransposeTile;
#pragma unroll
    for (int k = 0; k < kTransposeTile; k += kTransposeRows) {
      const std::int64_t row = row0 + ty + k, column = column0 + tx;
      if (row < rows && column < cols) tile[Layout::at(ty + k, tx)] = x[row * cols + column];
    }
    __syncthreads();  // the tile is complete
#pragma unroll
    for (int k = 0; k < kTransposeTile; k += kTransposeRows) {
      const std::int64_t row = row0 + tx, column = column0 + ty + k;
      if (row < rows && column < cols) y[column * rows + row] = tile[Layout::at(tx, ty + k)];
    }
    __syncthreads();  // the tile is read before the next one overwrites it
  }
}

template <class Layout>
void transpose_by_tiles(float* y, const float* x, const TransposeDims& dims, const Stream& stream) {
  const std::int64_t across = divide_up(dims.cols, kTransposeTile);
  const std::int64_t tiles = across * divide_up(dims.rows, kTransposeTile);
  const dim3 threads(kTransposeTile, kTransposeRows);
  launch(transpose_tile_kernel<Layout>, Launch{dim3(blocks_for(tiles, 1)), threads, 0, stream}, y,
         x, dims.rows, dims.cols, across, tiles);
}

}  // namespace weft::kernels::cuda

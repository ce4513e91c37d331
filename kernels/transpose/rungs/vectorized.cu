// SPDX-License-Identifier: MIT
// Transpose, rung "vectorized": every access has 16 bytes, and a thread turns 4 x 4 elements in
// registers.
//
//   x, 64 x 64           registers of a thread            shared memory            y, 64 x 64
//   4 rows of 4 floats   4 x 4, turned: column j of x  -> row 4 tx + j, quad ty -> 4 rows of 4
//   floats at (4 ty, 4 tx)      is now a vector of 4 floats                               at (4 ty,
//   4 tx)
//
// A shared access of 16 bytes is served for 8 lanes at a time, which have all 32 banks when their
// quads are different modulo 8. Quad q of row r lies at q XOR (r / 4): for 8 lanes of different tx,
// the stores go to ty XOR tx and the loads come from tx XOR ty. 256 threads, 16 KiB. Rows that do
// not start on 16-byte boundaries, and the ends of rows, are moved float by float.
#include "engine/launch.h"
#include "kernels/device/vector.cuh"
#include "kernels/transpose/launchers.h"

namespace weft::kernels::cuda {

namespace {

constexpr int kTile = 64;
constexpr int kQuads = kTile / 4;  // of a row, and threads along a side of the block

__global__ void __launch_bounds__(kQuads* kQuads)
    transpose_vectorized_kernel(float* __restrict__ y, const float* __restrict__ x,
                                std::int64_t rows, std::int64_t cols, std::int64_t tiles_across,
                                std::int64_t tiles) {
  __shared__ device::Float4 tile[kTile][kQuads];
  const int tx = static_cast<int>(threadIdx.x), ty = static_cast<int>(threadIdx.y);
  for (std::int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const std::int64_t row0 = t / tiles_across * kTile + 4 * ty;  // of x, this thread's
    const std::int64_t column0 = t % tiles_across * kTile + 4 * tx;
    device::Float4 loaded[4] = {};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (row0 + i < rows) loaded[i] = device::load4(x + (row0 + i) * cols, column0, cols);
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      device::Float4 turned;
#pragma unroll
      for (int i = 0; i < 4; ++i) turned.lane[i] = loaded[i].lane[j];
      tile[4 * tx + j][ty ^ tx] = turned;
    }
    __syncthreads();  // the tile is complete

    const std::int64_t out_row0 = t % tiles_across * kTile + 4 * ty;  // of y, this thread's
    const std::int64_t out_column0 = t / tiles_across * kTile + 4 * tx;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (out_row0 + j < cols) {
        device::store4(y + (out_row0 + j) * rows, out_column0, rows, tile[4 * ty + j][tx ^ ty]);
      }
    }
    __syncthreads();  // the tile is read before the next one overwrites it
  }
}

}  // namespace

void transpose_vectorized(float* y, const float* x, const TransposeDims& dims,
                          const Stream& stream) {
  const std::int64_t across = divide_up(dims.cols, kTile);
  const std::int64_t tiles = across * divide_up(dims.rows, kTile);
  launch(transpose_vectorized_kernel,
         Launch{dim3(blocks_for(tiles, 1)), dim3(kQuads, kQuads), 0, stream}, y, x, dims.rows,
         dims.cols, across, tiles);
}

}  // namespace weft::kernels::cuda

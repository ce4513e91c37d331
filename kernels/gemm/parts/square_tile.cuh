// SPDX-License-Identifier: MIT
// The tiled GEMM of the textbooks, for rungs "tiled_16" and "tiled_32": a block of kTile x kTile
// threads computes a tile of C of that size, one element for each thread.
//
//   for each tile of k:   every thread loads one element of A and one of B into shared memory
//                         barrier
//                         kTile multiply-adds from shared memory
//                         barrier, before the next tiles overwrite these
//
// A thread reads along the rows of memory, whatever the transpose, so that loads coalesce. A
// transposed tile is written down the columns of its array; one float of padding in each row keeps
// these stores free of bank conflicts. Elements outside of a matrix count as 0.
#pragma once

#include "engine/launch.h"
#include "kernels/gemm/launchers.h"
#include "kernels/gemm/parts/store.cuh"

namespace weft::kernels::cuda::square_tile {

template <int kTile, bool kTransposed>
struct Tile {
  float at[kTile][kTile + (kTransposed ? 1 : 0)];

  // at[i][j] = M(row0 + i, column0 + j), 0 outside of (rows, columns).
  __device__ __forceinline__ void load(const float* __restrict__ matrix, std::int64_t row0,
                                       std::int64_t column0, std::int64_t rows,
                                       std::int64_t columns, std::int64_t ld) {
    const int i = kTransposed ? threadIdx.x : threadIdx.y;
    const int j = kTransposed ? threadIdx.y : threadIdx.x;
    const std::int64_t row = row0 + i, column = column0 + j;
    const std::int64_t offset = kTransposed ? column * ld + row : row * ld + column;
    at[i][j] = row < rows && column < columns ? matrix[offset] : 0.0f;
  }
};

template <int kTile, bool kTransposeA, bool kTransposeB>
__global__ void __launch_bounds__(kTile* kTile)
    gemm_square_tile_kernel(GemmOutput out, const float* __restrict__ a,
                            const float* __restrict__ b, std::int64_t k, std::int64_t lda,
                            std::int64_t ldb, std::int64_t column_tiles) {
  __shared__ Tile<kTile, kTransposeA> a_tile;  // (m, k)
  __shared__ Tile<kTile, kTransposeB> b_tile;  // (k, n)
  const std::int64_t row0 = blockIdx.x / column_tiles * kTile;
  const std::int64_t column0 = blockIdx.x % column_tiles * kTile;

  float sum = 0;
  for (std::int64_t k0 = 0; k0 < k; k0 += kTile) {
    a_tile.load(a, row0, k0, out.m, k, lda);
    b_tile.load(b, k0, column0, k, out.n, ldb);
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kTile; ++j) sum += a_tile.at[threadIdx.y][j] * b_tile.at[j][threadIdx.x];
    __syncthreads();  // the tiles are read before the next ones overwrite them
  }
  store_one(out, row0 + threadIdx.y, column0 + threadIdx.x, sum);
}

template <int kTile>
void gemm(float* c, const float* a, const float* b, const float* bias, const GemmDims& dims,
          const GemmOptions& options, const Stream& stream) {
  launch_tiles(c, a, b, bias, dims, options, {kTile, kTile, dim3(kTile, kTile)}, stream,
               [](auto transpose_a, auto transpose_b) {
                 return gemm_square_tile_kernel<kTile, transpose_a(), transpose_b()>;
               });
}

}  // namespace weft::kernels::cuda::square_tile

// SPDX-License-Identifier: MIT
// GEMM, rung "tiled": a block stages 32 x 32 tiles of A and B in shared memory.
//
//              B  (32, 32)     Each element loaded from global memory is used 32 times. A tile is
//            +---------+       read along its rows in memory, whatever the transpose, so that loads
//            |         |       coalesce; the rows of the shared arrays are padded by one float, so
//  A         +---------+       that the transposed tiles are written without bank conflicts.
//  +-------+ +---------+
//  |(32,32)| | C tile  |       256 threads, 4 elements of C each; 8.25 KiB of shared memory.
//  +-------+ +---------+
#include "engine/launch.h"
#include "kernels/gemm/launchers.h"
#include "kernels/gemm/parts/store.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kTile = 32;
constexpr int kRows = 8;  // of the block; a thread has kTile / kRows elements of a tile
constexpr int kElements = kTile / kRows;

// tile[i][j] = M(row0 + i, column0 + j), 0 outside of (rows, columns). M is stored transposed when
// kTransposed.
template <bool kTransposed>
__device__ void load_tile(float (&tile)[kTile][kTile + 1], const float* __restrict__ matrix,
                          std::int64_t row0, std::int64_t column0, std::int64_t rows,
                          std::int64_t columns, std::int64_t ld) {
#pragma unroll
  for (int e = 0; e < kElements; ++e) {
    const int slow = threadIdx.y + e * kRows, fast = threadIdx.x;
    const int i = kTransposed ? fast : slow, j = kTransposed ? slow : fast;
    const std::int64_t row = row0 + i, column = column0 + j;
    const std::int64_t offset = kTransposed ? column * ld + row : row * ld + column;
    tile[i][j] = row < rows && column < columns ? matrix[offset] : 0.0f;
  }
}

template <bool kTransposeA, bool kTransposeB>
__global__ void __launch_bounds__(kTile* kRows)
    gemm_tiled_kernel(GemmOutput out, const float* __restrict__ a, const float* __restrict__ b,
                      std::int64_t k, std::int64_t lda, std::int64_t ldb,
                      std::int64_t column_tiles) {
  __shared__ float a_tile[kTile][kTile + 1];  // (m, k)
  __shared__ float b_tile[kTile][kTile + 1];  // (k, n)
  const std::int64_t row0 = blockIdx.x / column_tiles * kTile;
  const std::int64_t column0 = blockIdx.x % column_tiles * kTile;

  float sum[kElements] = {};
  for (std::int64_t k0 = 0; k0 < k; k0 += kTile) {
    load_tile<kTransposeA>(a_tile, a, row0, k0, out.m, k, lda);
    load_tile<kTransposeB>(b_tile, b, k0, column0, k, out.n, ldb);
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kTile; ++j) {
      const float right = b_tile[j][threadIdx.x];
#pragma unroll
      for (int e = 0; e < kElements; ++e) sum[e] += a_tile[threadIdx.y + e * kRows][j] * right;
    }
    __syncthreads();  // the tiles are read before the next ones overwrite them
  }
#pragma unroll
  for (int e = 0; e < kElements; ++e) {
    store_one(out, row0 + threadIdx.y + e * kRows, column0 + threadIdx.x, sum[e]);
  }
}

}  // namespace

void gemm_tiled(float* c, const float* a, const float* b, const float* bias, const GemmDims& dims,
                const GemmOptions& options, const Stream& stream) {
  launch_tiles(c, a, b, bias, dims, options, {kTile, kTile, dim3(kTile, kRows)}, stream,
               [](auto transpose_a, auto transpose_b) {
                 return gemm_tiled_kernel<transpose_a(), transpose_b()>;
               });
}

}  // namespace weft::kernels::cuda

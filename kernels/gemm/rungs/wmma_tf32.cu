// SPDX-License-Identifier: MIT
// GEMM, rung "wmma_tf32": tensor cores through the fragment API of CUDA C++ (nvcuda::wmma). sm_80
// and later.
//
//             B (32, 64)      The tiles of rung "tiled", larger, with one change: a warp multiplies
//           +----+----+       fragments of 16 x 16 x 8 instead of single numbers. Which lane holds
//  A        +----+----+       what of a fragment is the compiler's secret, so sums go to C by way
//  of (64, 32) +----+----+       shared memory, where edges, bias and ReLU are simple again.
//  +------+ | w0 | w1 |
//  |      | +----+----+       4 warps, each 32 x 32 of C in 2 x 2 fragments; 19 KiB of shared
//  +------+ | w2 | w3 |       memory. Operands are rounded to tf32 before they go there.
//           +----+----+
//
// Rows of the shared arrays are padded by 8 floats: the fragments' rows then lie in different
// banks, and each fragment still starts on the 32 bytes that the API asks for.
#include <mma.h>

#include "engine/launch.h"
#include "kernels/device/mma.cuh"
#include "kernels/gemm/launchers.h"
#include "kernels/gemm/parts/store.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kTile = 64, kDepth = 32;
constexpr int kThreads = 128;
constexpr int kStrideA = kDepth + 8, kStrideB = kTile + 8;
constexpr int kFloatsA = kTile * kStrideA, kFloatsB = kDepth * kStrideB;
static_assert(kTile * kStrideB <= kFloatsA + kFloatsB, "C fits where the operands were");

// tile(i, j) = M(row0 + i, column0 + j) rounded to tf32, 0 outside of (rows, columns). M is stored
// transposed when kTransposed; neighbouring threads read neighbours in memory.
template <int kRows, int kColumns, int kStride, bool kTransposed>
__device__ void load_tile(float* tile, const float* __restrict__ matrix, std::int64_t row0,
                          std::int64_t column0, std::int64_t rows, std::int64_t columns,
                          std::int64_t ld) {
  constexpr int kFast = kTransposed ? kRows : kColumns;
#pragma unroll 8
  for (int e = static_cast<int>(threadIdx.x); e < kRows * kColumns; e += kThreads) {
    const int fast = e % kFast, slow = e / kFast;
    const int i = kTransposed ? fast : slow, j = kTransposed ? slow : fast;
    const std::int64_t row = row0 + i, column = column0 + j;
    const std::int64_t offset = kTransposed ? column * ld + row : row * ld + column;
    const float value = row < rows && column < columns ? matrix[offset] : 0.0f;
    tile[i * kStride + j] = __uint_as_float(device::to_tf32(value));
  }
}

#if __CUDA_ARCH__ >= 800 || defined(WEFT_HOST_CUDA)
namespace wmma = nvcuda::wmma;
constexpr int kWarpTile = 32, kFragment = 16, kStep = 8;
constexpr int kFragments = kWarpTile / kFragment;
using Left = wmma::fragment<wmma::matrix_a, kFragment, kFragment, kStep, wmma::precision::tf32,
                            wmma::row_major>;
using Right = wmma::fragment<wmma::matrix_b, kFragment, kFragment, kStep, wmma::precision::tf32,
                             wmma::row_major>;
using Sum = wmma::fragment<wmma::accumulator, kFragment, kFragment, kStep, float>;

// sums += the warp's rows of the tile of A times its columns of the tile of B.
__device__ void multiply_tiles(Sum (&sums)[kFragments][kFragments], const float* a_rows,
                               const float* b_columns) {
#pragma unroll
  for (int k = 0; k < kDepth; k += kStep) {
    Left left[kFragments];
    Right right[kFragments];
#pragma unroll
    for (int f = 0; f < kFragments; ++f) {
      wmma::load_matrix_sync(left[f], a_rows + f * kFragment * kStrideA + k, kStrideA);
      wmma::load_matrix_sync(right[f], b_columns + k * kStrideB + f * kFragment, kStrideB);
    }
#pragma unroll
    for (int i = 0; i < kFragments; ++i) {
#pragma unroll
      for (int j = 0; j < kFragments; ++j) {
        wmma::mma_sync(sums[i][j], left[i], right[j], sums[i][j]);
      }
    }
  }
}
#endif

template <bool kTransposeA, bool kTransposeB>
__global__ void __launch_bounds__(kThreads)
    gemm_wmma_kernel(GemmOutput out, const float* __restrict__ a, const float* __restrict__ b,
                     std::int64_t k, std::int64_t lda, std::int64_t ldb,
                     std::int64_t column_tiles) {
#if __CUDA_ARCH__ >= 800 || defined(WEFT_HOST_CUDA)
  alignas(32) __shared__ float shared[kFloatsA + kFloatsB];
  float* const a_tile = shared;             // (m, k)
  float* const b_tile = shared + kFloatsA;  // (k, n)
  const std::int64_t row0 = blockIdx.x / column_tiles * kTile;
  const std::int64_t column0 = blockIdx.x % column_tiles * kTile;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_row = warp / 2 * kWarpTile, warp_column = warp % 2 * kWarpTile;

  Sum sums[kFragments][kFragments];
#pragma unroll
  for (int i = 0; i < kFragments; ++i) {
#pragma unroll
    for (int j = 0; j < kFragments; ++j) wmma::fill_fragment(sums[i][j], 0.0f);
  }
  for (std::int64_t k0 = 0; k0 < k; k0 += kDepth) {
    load_tile<kTile, kDepth, kStrideA, kTransposeA>(a_tile, a, row0, k0, out.m, k, lda);
    load_tile<kDepth, kTile, kStrideB, kTransposeB>(b_tile, b, k0, column0, k, out.n, ldb);
    __syncthreads();
    multiply_tiles(sums, a_tile + warp_row * kStrideA, b_tile + warp_column);
    __syncthreads();  // the tiles are read before the next ones, or C, overwrite them
  }

  float* const c_tile = shared;  // (m, n), rows kStrideB apart
#pragma unroll
  for (int i = 0; i < kFragments; ++i) {
#pragma unroll
    for (int j = 0; j < kFragments; ++j) {
      wmma::store_matrix_sync(
          c_tile + (warp_row + i * kFragment) * kStrideB + warp_column + j * kFragment, sums[i][j],
          kStrideB, wmma::mem_row_major);
    }
  }
  __syncthreads();
  for (int e = static_cast<int>(threadIdx.x); e < kTile * kTile; e += kThreads) {
    store_one(out, row0 + e / kTile, column0 + e % kTile, c_tile[e / kTile * kStrideB + e % kTile]);
  }
#else
  (void)out, (void)a, (void)b, (void)k, (void)lda, (void)ldb, (void)column_tiles;
  __trap();
#endif
}

}  // namespace

void gemm_wmma_tf32(float* c, const float* a, const float* b, const float* bias,
                    const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  launch_tiles(c, a, b, bias, dims, options, {kTile, kTile, kThreads}, stream,
               [](auto transpose_a, auto transpose_b) {
                 return gemm_wmma_kernel<transpose_a(), transpose_b()>;
               });
}

}  // namespace weft::kernels::cuda

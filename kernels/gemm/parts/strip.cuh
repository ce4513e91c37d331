// SPDX-License-Identifier: MIT
// GEMM, the part that the rungs "strip_k1" to "strip_k3k4" share: a block is one SIMD vector of
// columns of C.
//
//                     columns: `width` threads, kColumns each, `width` apart
//   row strip of A    +-------------------------------+
//   [ k ... k+width ) |  B, read straight from memory |   the block computes kRows rows of C
//                     +-------------------------------+
//
//   strip_k1     one result in a thread; A comes from memory, one element for the whole warp
//   strip_k2     the block stages a strip of A, `width` long, in shared memory
//   strip_k3     2 or 4 results along the columns: an element of A serves them all
//   strip_k4     2 or 4 results along the rows: an element of B serves them all
//   strip_k3k4   4 columns by 2 or 4 rows
//
// The width is 32, 64, 128 or 256 (GemmOptions). B is read once for every kRows rows of C, from
// the caches or memory, which stays the limit of the whole family: the last rung does 16
// multiply-adds for 4 loads from memory. The course stores by columns and calls the operands c and
// b; with rows and columns exchanged it is the same program.
#pragma once

#include "engine/launch.h"
#include "kernels/gemm/launchers.h"
#include "kernels/gemm/parts/store.cuh"

namespace weft::kernels::cuda {
namespace strip {

constexpr int kMaxWidth = 256;

// op(M)(row, column) = data[row * row_step + column * column_step].
struct Operand {
  const float* data;
  std::int64_t row_step, column_step;
};

template <int kRows, int kColumns, bool kStaged>
__global__ void __launch_bounds__(kMaxWidth)
    gemm_strip_kernel(GemmOutput out, Operand a, Operand b, std::int64_t k,
                      std::int64_t column_blocks) {
  __shared__ float strip[kStaged ? kRows : 1][kStaged ? kMaxWidth : 1];
  const int width = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
  const std::int64_t row0 = blockIdx.x / column_blocks * kRows;
  const std::int64_t column0 = blockIdx.x % column_blocks * (width * kColumns) + thread;
  // Rows and columns past the end repeat the last one, and are not stored.
  const float* left[kRows];
  const float* right[kColumns];
#pragma unroll
  for (int r = 0; r < kRows; ++r) left[r] = a.data + min(row0 + r, out.m - 1) * a.row_step;
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    right[c] = b.data + min(column0 + c * width, out.n - 1) * b.column_step;
  }

  float sum[kRows][kColumns] = {};
  for (std::int64_t k0 = 0; k0 < k; k0 += width) {
    const int depth = static_cast<int>(min(std::int64_t{width}, k - k0));
    if constexpr (kStaged) {
      __syncthreads();  // the strip before has been read
      if (thread < depth) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) strip[r][thread] = left[r][(k0 + thread) * a.column_step];
      }
      __syncthreads();  // this one is written
    }
#pragma unroll 4
    for (int p = 0; p < depth; ++p) {
      float factor[kColumns];
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        factor[c] = *right[c];
        right[c] += b.row_step;
      }
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const float scale = kStaged ? strip[r][p] : *left[r];
        if constexpr (!kStaged) left[r] += a.column_step;
#pragma unroll
        for (int c = 0; c < kColumns; ++c) sum[r][c] += scale * factor[c];
      }
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) store_one(out, row0 + r, column0 + c * width, sum[r][c]);
  }
}

template <int kRows, int kColumns, bool kStaged>
void gemm_strip(float* c, const float* a, const float* b, const float* bias, const GemmDims& dims,
                const GemmOptions& options, const Stream& stream) {
  const std::int64_t width = options.strip_width;
  const std::int64_t column_blocks = (dims.n + width * kColumns - 1) / (width * kColumns);
  const std::int64_t row_blocks = divide_up(dims.m, kRows);
  const Operand left{a, dims.transpose_a ? 1 : dims.lda, dims.transpose_a ? dims.lda : 1};
  const Operand right{b, dims.transpose_b ? 1 : dims.ldb, dims.transpose_b ? dims.ldb : 1};
  const Launch config{blocks_for(column_blocks * row_blocks, 1), static_cast<unsigned>(width), 0,
                      stream};
  launch(gemm_strip_kernel<kRows, kColumns, kStaged>, config, gemm_output(c, bias, dims, options),
         left, right, dims.k, column_blocks);
}

}  // namespace strip
}  // namespace weft::kernels::cuda

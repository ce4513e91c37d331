// SPDX-License-Identifier: MIT
// The sums of the rows of op(A), for the variants of GEMM that do not add them up on the way.
//
// When A is stored along k, a warp has a row. When it is transposed, as in a weight gradient, a
// block owns 8 columns, 32 bytes of each row in memory, and its warps take four rows at a time.
//
//     lanes 0 .. 7    row 0, 64, 128, ...      then the four rows of a warp are added by shuffles,
//     lanes 8 .. 15   row 1, 65, 129, ...      and the 16 warps in order
#include "engine/launch.h"
#include "kernels/device/warp.cuh"
#include "kernels/gemm/launchers.h"

namespace weft::kernels::cuda {
namespace {

constexpr int kWarps = 16, kThreads = 32 * kWarps;
constexpr int kColumns = 8;                 // of a block
constexpr int kRows = kThreads / kColumns;  // that a block reads at a time

__device__ __forceinline__ void store_sum(float* to, float sum, float alpha, float beta) {
  sum *= alpha;
  *to = beta != 0 ? sum + beta * *to : sum;
}

__global__ void __launch_bounds__(kThreads)
    columns_kernel(float* __restrict__ sums, const float* __restrict__ a, std::int64_t m,
                   std::int64_t k, std::int64_t lda, float alpha, float beta) {
  __shared__ float partial[kWarps][kColumns];
  const int thread = static_cast<int>(threadIdx.x), column = thread % kColumns;
  const std::int64_t at = std::int64_t{blockIdx.x} * kColumns + column;
  float sum = 0;
  if (at < m) {
#pragma unroll 8
    for (std::int64_t i = thread / kColumns; i < k; i += kRows) sum += a[i * lda + at];
  }
  sum += __shfl_xor_sync(device::kFullWarp, sum, 8);
  sum += __shfl_xor_sync(device::kFullWarp, sum, 16);
  if (thread % 32 < kColumns) partial[thread / 32][column] = sum;
  __syncthreads();  // all warps have written before the first adds them up
  if (thread < kColumns && at < m) {
    float total = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) total += partial[w][column];
    store_sum(sums + at, total, alpha, beta);
  }
}

__global__ void __launch_bounds__(kThreads)
    rows_kernel(float* __restrict__ sums, const float* __restrict__ a, std::int64_t m,
                std::int64_t k, std::int64_t lda, float alpha, float beta) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  if (row >= m) return;  // the whole warp leaves; there is no block barrier
  float sum = 0;
#pragma unroll 8
  for (std::int64_t i = threadIdx.x % 32; i < k; i += 32) sum += a[row * lda + i];
  sum = device::warp_reduce(sum, device::Add());
  if (threadIdx.x % 32 == 0) store_sum(sums + row, sum, alpha, beta);
}

}  // namespace

void gemm_row_sums(float* row_sums, const float* a, const GemmDims& dims, float alpha, float beta,
                   const Stream& stream) {
  if (dims.transpose_a) {
    launch(columns_kernel, Launch{blocks_for(dims.m, kColumns), kThreads, 0, stream}, row_sums, a,
           dims.m, dims.k, dims.lda, alpha, beta);
  } else {
    launch(rows_kernel, Launch{blocks_for(dims.m, kWarps), kThreads, 0, stream}, row_sums, a,
           dims.m, dims.k, dims.lda, alpha, beta);
  }
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
#include "tests/host_cuda/tensor_core_kernels.h"

#include "engine/launch.h"
#include "kernels/device/async_copy.cuh"
#include "kernels/device/fragment_tiles.cuh"

namespace weft::test {

namespace {

using namespace kernels::device;

__global__ void multiply(Mma which, float* d, const std::uint32_t* a, const std::uint32_t* b) {
  float sum[4];
  std::uint32_t left[4], right[2];
  for (int i = 0; i < 4; ++i) sum[i] = d[4 * threadIdx.x + i];
  for (int i = 0; i < 4; ++i) left[i] = a[4 * threadIdx.x + i];
  for (int i = 0; i < 2; ++i) right[i] = b[2 * threadIdx.x + i];
  if (which == Mma::tf32_k8) mma_m16n8k8_tf32(sum, left, right);
  if (which == Mma::bf16_k8) mma_m16n8k8_bf16(sum, {left[0], left[1]}, right[0]);
  if (which == Mma::bf16_k16) mma_m16n8k16_bf16(sum, left, right);
  for (int i = 0; i < 4; ++i) d[4 * threadIdx.x + i] = sum[i];
}

__global__ void load(bool transposed, std::uint32_t* words, const uint4* rows) {
  __shared__ uint4 shared[32];
  shared[threadIdx.x] = rows[threadIdx.x];
  __syncwarp();
  std::uint32_t mine[4];
  if (transposed) {
    load_matrices_transposed(mine, &shared[threadIdx.x]);
  } else {
    load_matrices(mine, shared_address(&shared[threadIdx.x]));
  }
  for (int i = 0; i < 4; ++i) words[4 * threadIdx.x + i] = mine[i];
}

__global__ void mma_in_a_branch(std::uint32_t* x) {
  float sum[4] = {};
  if (threadIdx.x % 32 < 16) mma_m16n8k8_tf32(sum, {x[0], x[1], x[2], x[3]}, {x[4], x[5]});
  x[threadIdx.x] = __float_as_uint(sum[0]);
}

__global__ void mma_of_two_branches(std::uint32_t* x) {
  float sum[4] = {};
  if (threadIdx.x % 2 == 0) {
    mma_m16n8k8_tf32(sum, {x[0], x[1], x[2], x[3]}, {x[4], x[5]});
  } else {
    mma_m16n8k8_tf32(sum, {x[6], x[7], x[8], x[9]}, {x[10], x[11]});
  }
  x[threadIdx.x] = __float_as_uint(sum[0]);
}

__global__ void mma_of_half_a_warp(std::uint32_t* x) {
  float sum[4] = {};
  mma_m16n8k8_bf16(sum, {x[0], x[1]}, x[2]);
  x[threadIdx.x] = __float_as_uint(sum[0]);
}

// Each of two warps changes its half of the rows and reads the other, with no barrier between.
__global__ void rows_of_another_warp(std::uint32_t* x) {
  __shared__ uint4 rows[64];
  rows[threadIdx.x] = {x[threadIdx.x], 0, 0, 0};
  __syncthreads();
  rows[threadIdx.x].x = 1;
  __syncwarp();
  std::uint32_t words[4];
  load_matrices(words, &rows[threadIdx.x ^ 32]);
  x[threadIdx.x] = words[0];
}

__global__ void row_half_written(std::uint32_t* x) {
  __shared__ uint4 rows[64];
  rows[threadIdx.x].x = x[threadIdx.x];
  rows[threadIdx.x].y = 0;
  rows[threadIdx.x].w = 0;
  __syncthreads();
  std::uint32_t words[4];
  load_matrices(words, &rows[threadIdx.x]);
  x[threadIdx.x] = words[0];
}

__global__ void row_beyond_the_array(std::uint32_t* x, int step) {
  __shared__ uint4 rows[64];
  rows[threadIdx.x] = {x[threadIdx.x], 0, 0, 0};
  __syncthreads();
  std::uint32_t words[4];
  load_matrices(words, shared_address(rows) + 16 * (threadIdx.x + step));
  x[threadIdx.x] = words[0];
}

__global__ void row_in_global_memory(std::uint32_t* x) {
  std::uint32_t words[4];
  load_matrices(words, x);
  x[threadIdx.x] = words[0];
}

__global__ void row_between_quads(std::uint32_t* x) {
  __shared__ uint4 rows[65];
  rows[threadIdx.x] = {x[threadIdx.x], 0, 0, 0};
  __syncthreads();
  std::uint32_t words[4];
  load_matrices(words, &rows[threadIdx.x].z);
  x[threadIdx.x] = words[0];
}

__global__ void no_wait_for_a_copy(std::uint32_t* x) {
  __shared__ float values[64];
  const int i = static_cast<int>(threadIdx.x);
  async_copy_float(values + i, reinterpret_cast<const float*>(x) + i, true);
  async_commit();
  __syncthreads();
  x[i] = __float_as_uint(values[63 - i]);
}

__global__ void no_commit_of_a_copy(std::uint32_t* x) {
  __shared__ float values[64];
  const int i = static_cast<int>(threadIdx.x);
  async_copy_float(values + i, reinterpret_cast<const float*>(x) + i, true);
  async_wait<0>();
  __syncthreads();
  x[i] = __float_as_uint(values[63 - i]);
}

__global__ void copy_over_what_is_read(std::uint32_t* x) {
  __shared__ float values[64];
  const int i = static_cast<int>(threadIdx.x);
  values[i] = __uint_as_float(x[i]);
  __syncthreads();
  const float read = values[63 - i];
  async_copy_float(values + i, reinterpret_cast<const float*>(x) + i, true);
  async_commit();
  async_wait<0>();
  __syncthreads();
  x[i] = __float_as_uint(read + values[i]);
}

__global__ void copy_between_quads(std::uint32_t* x) {
  __shared__ float4 values[65];
  const int i = static_cast<int>(threadIdx.x) % 8;
  async_copy_16(values + i, x + 4 * i + 2, true);
  async_commit();
  async_wait<0>();
  x[i] = __float_as_uint(values[i].x);
}

}  // namespace

void run_mma(Mma which, float* d, const std::uint32_t* a, const std::uint32_t* b,
             const Stream& stream) {
  launch(multiply, Launch{1, 32, 0, stream}, which, d, a, b);
}

void run_load_matrices(bool transposed, std::uint32_t* words, const std::uint16_t* halves,
                       const Stream& stream) {
  launch(load, Launch{1, 32, 0, stream}, transposed, words, reinterpret_cast<const uint4*>(halves));
}

void run_mistake(MatrixMistake which, std::uint32_t* x, const Stream& stream) {
  const Launch config{1, 64, 0, stream};
  switch (which) {
    case MatrixMistake::mma_in_a_branch:
      return launch(mma_in_a_branch, config, x);
    case MatrixMistake::mma_of_two_branches:
      return launch(mma_of_two_branches, config, x);
    case MatrixMistake::mma_of_half_a_warp:
      return launch(mma_of_half_a_warp, Launch{1, 16, 0, stream}, x);
    case MatrixMistake::rows_of_another_warp:
      return launch(rows_of_another_warp, config, x);
    case MatrixMistake::row_half_written:
      return launch(row_half_written, config, x);
    case MatrixMistake::row_beyond_the_array:
      return launch(row_beyond_the_array, config, x, 1);
    case MatrixMistake::row_in_global_memory:
      return launch(row_in_global_memory, config, x);
    case MatrixMistake::row_between_quads:
      return launch(row_between_quads, config, x);
    case MatrixMistake::no_wait_for_a_copy:
      return launch(no_wait_for_a_copy, config, x);
    case MatrixMistake::no_commit_of_a_copy:
      return launch(no_commit_of_a_copy, config, x);
    case MatrixMistake::copy_over_what_is_read:
      return launch(copy_over_what_is_read, config, x);
    case MatrixMistake::copy_between_quads:
      return launch(copy_between_quads, config, x);
  }
}

}  // namespace weft::test

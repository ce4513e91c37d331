// SPDX-License-Identifier: MIT
// GEMM, rung "vectorized": the register tile, fed by loads of 16 bytes.
//
// The tile of "register_tiled" for large products, 128 x 128 with 8 x 8 results in each of 256
// threads, but operands travel as quads: a quarter of the load instructions, and of the address
// arithmetic that goes with them. A is k-major in shared memory, so that the fragments of both
// operands are read by 16-byte loads too. Chunks of 16 of k, two stages: 33 KiB of shared memory,
// at most 128 registers. Operands without 16-byte alignment are read float by float.
#include "engine/launch.h"
#include "kernels/device/register_tile.cuh"
#include "kernels/gemm/parts/quad_stream.cuh"

namespace weft::kernels::cuda {
namespace {

using Tile = device::RegisterTile<128, 128, 16, 8, 8>;

template <bool kTransposeA, bool kTransposeB>
__global__ void __launch_bounds__(Tile::kThreads, 2)
    gemm_vectorized_kernel(GemmOutput out, const float* __restrict__ a, const float* __restrict__ b,
                           std::int64_t k, std::int64_t lda, std::int64_t ldb,
                           std::int64_t column_tiles) {
  alignas(16) __shared__ float shared[Tile::kSharedFloats];  // 2 x (A (kK, kM+4), B (kK, kN+4))
  const std::int64_t row0 = blockIdx.x / column_tiles * Tile::kM;
  const std::int64_t column0 = blockIdx.x % column_tiles * Tile::kN;
  const device::TilePlace<Tile> place(static_cast<int>(threadIdx.x));
  float sum[Tile::kThreadM][Tile::kThreadN] = {};
  const auto multiply = [&](auto& sums, const float* stage) {
    device::multiply_chunk<Tile>(sums, stage, place);
  };
  multiply_by_quads<Tile, decltype(multiply), kTransposeA, kTransposeB>(
      sum, shared, a, b, row0, column0, out.m, out.n, 0, k, lda, ldb, multiply);
  device::store_tile<Tile>(sum, shared, place, [&](int row, int column, float4 quad) {
    store_quad(out, row0 + row, column0 + column, quad);
  });
}

}  // namespace

void gemm_vectorized(float* c, const float* a, const float* b, const float* bias,
                     const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  launch_tiles(c, a, b, bias, dims, options, {Tile::kM, Tile::kN, Tile::kThreads}, stream,
               [](auto transpose_a, auto transpose_b) {
                 return gemm_vectorized_kernel<transpose_a(), transpose_b()>;
               });
}

}  // namespace weft::kernels::cuda

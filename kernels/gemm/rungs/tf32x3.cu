// SPDX-License-Identifier: MIT
// GEMM, rung "tf32x3": fp32 accuracy from tensor cores that know 10 mantissa bits. sm_80 and later.
//
// Operands are split in two (float_math.cuh), and three products replace one. That is a third of
// the tf32 rate, and still more than the rate of fp32 multiply-adds. Tensor cores truncate where
// fp32 additions round, which over a long k would lose more than the splitting. So they only add up
// a chunk of 32 along k, and fp32 adds its sums to totals. mma_block.cuh tells the pipeline. An
// operand that is infinite, or too large to be rounded to tf32 (from 2^128 - 2^116 on), gives NaN.
//
//   tile       warps  per warp  sums, totals  blocks of an SM  shared memory  for
//   64 x 128   4      32 x 64   64 + 64       2                96 KiB         large products
//   64 x 64    4      32 x 32   32 + 32       2                64 KiB         a small C
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/gemm/tensor_core/float_math.cuh"
#include "kernels/gemm/tensor_core/mma_block.cuh"

namespace weft::kernels::cuda {
namespace {

using Tile128 = MmaTile<64, 128, 32, 64, 4, 2, true>;
using Tile64 = MmaTile<64, 64, 32, 32, 4, 2, false>;

template <class Tile, bool kTransposeA, bool kTransposeB>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    gemm_tf32x3_kernel(GemmOutput out, const float* __restrict__ a, const float* __restrict__ b,
                       std::int64_t k, std::int64_t lda, std::int64_t ldb, Whole whole,
                       TileOrder order) {
  float4* shared_quads = device::dynamic_shared<float4>();  // kStages x (A chunk, B chunk)
  int tile_row, tile_column;
  order.place(static_cast<int>(blockIdx.x), tile_row, tile_column);
  const std::int64_t row0 = std::int64_t{tile_row} * Tile::kM;
  const std::int64_t column0 = std::int64_t{tile_column} * Tile::kN;
  MmaSums<Tile> sums = {}, totals = {};
  const auto add_to_totals = [&] {
#pragma unroll
    for (int i = 0; i < Tile::kFragmentsM; ++i) {
#pragma unroll
      for (int j = 0; j < Tile::kFragmentsN; ++j) {
#pragma unroll
        for (int w = 0; w < 8; ++w) {
          totals[i][j][w / 4][w % 4] += sums[i][j][w / 4][w % 4];
          sums[i][j][w / 4][w % 4] = 0;
        }
      }
    }
  };
  multiply_tile<Tf32x3, Tile, kTransposeA, kTransposeB>(sums, reinterpret_cast<char*>(shared_quads),
                                                        a, b, row0, column0, out.m, out.n, k, lda,
                                                        ldb, whole, add_to_totals);
  // Code as short as elsewhere makes the compiler schedule the loop over k differently, and slower:
  // 1024 x 1024 x 1024 with B^T then takes 43.5 us instead of 40.1 us on an H200.
  store_float_sums<Tile, false>(out, row0, column0, totals);
}

template <class Tile>
void launch_tile(const GemmOutput& out, const float* a, const float* b, const GemmDims& dims,
                 const Whole& whole, const Stream& stream) {
  const TileOrder order = tile_order<Tile>(dims);
  const Launch config{blocks_for(std::int64_t{order.rows} * order.columns, 1), Tile::kThreads,
                      Tile::kSharedBytes, stream};
  with_transposes(dims, [&](auto transpose_a, auto transpose_b) {
    launch(gemm_tf32x3_kernel<Tile, transpose_a(), transpose_b()>, config, out, a, b, dims.k,
           dims.lda, dims.ldb, whole, order);
  });
}

}  // namespace

void gemm_tf32x3(float* c, const float* a, const float* b, const float* bias, const GemmDims& dims,
                 const GemmOptions& options, const Stream& stream) {
  const GemmOutput out = gemm_output(c, bias, dims, options);
  const Whole whole = whole_operands(a, b, dims);
  if (fills_device<Tile128>(dims, whole, 1, stream, Tile128::kBlocks)) {
    launch_tile<Tile128>(out, a, b, dims, whole, stream);
  } else {
    launch_tile<Tile64>(out, a, b, dims, whole, stream);
  }
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// GEMM, rung "mma_tf32": tensor cores through mma.sync, fed by asynchronous copies. sm_80 and
// later. mma_block.cuh tells the pipeline, mma_operand.cuh how operands lie in shared memory.
//
//   tile        warps  per warp  blocks of an SM  stages  shared memory  for
//   256 x 128   8      64 x 64   1                4       192 KiB        large products, sm_90
//   128 x 128   8      64 x 32   1                3       96 KiB         large products
//   64 x 64     4      32 x 32   2                4       64 KiB         a small C, odd rows
//
// In 64 x 64 a warp has 128 sums a lane, and does 32 products of 16 x 8 x 8 for every 8 fragments
// of 512 bytes that it reads. Operands are rounded to tf32 in registers, in one or two instructions
// for each of the 32 numbers that a lane has read. With ComputeMode bf16 pairs of numbers are
// rounded in one, and the products take half the time. Storage and sums are fp32.
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/gemm/tensor_core/float_math.cuh"
#include "kernels/gemm/tensor_core/mma_block.cuh"

namespace weft::kernels::cuda {
namespace {

using Tile256 = MmaTile<256, 128, 64, 64, 4, 1, true>;
using Tile128 = MmaTile<128, 128, 64, 32, 3, 1, true>;
using Tile64 = MmaTile<64, 64, 32, 32, 4, 2, false>;

template <class Math, class Tile, bool kTransposeA, bool kTransposeB>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    gemm_mma_tf32_kernel(GemmOutput out, const float* __restrict__ a, const float* __restrict__ b,
                         std::int64_t k, std::int64_t lda, std::int64_t ldb, Whole whole,
                         TileOrder order, GemmBatch batch) {
  if constexpr (Tile::kSharedBytes <= device::kMaxSharedBytes) {
    float4* shared_quads = device::dynamic_shared<float4>();  // kStages x (A chunk, B chunk)
    const int tiles = order.rows * order.columns;
    const int product = static_cast<int>(blockIdx.x) / tiles;
    int tile_row, tile_column;
    order.place(static_cast<int>(blockIdx.x) % tiles, tile_row, tile_column);
    const std::int64_t row0 = std::int64_t{tile_row} * Tile::kM;
    const std::int64_t column0 = std::int64_t{tile_column} * Tile::kN;
    MmaSums<Tile> sums = {};
    multiply_tile<Math, Tile, kTransposeA, kTransposeB>(
        sums, reinterpret_cast<char*>(shared_quads), a + product * batch.stride_a,
        b + product * batch.stride_b, row0, column0, out.m, out.n, k, lda, ldb, whole, [] {});
    out.c += product * batch.stride_c;
    store_float_sums<Tile>(out, row0, column0, sums);
  }
}

template <class Tile>
void launch_tile(const GemmOutput& out, const float* a, const float* b, const GemmDims& dims,
                 const Whole& whole, const GemmBatch& batch, bool bf16, const Stream& stream) {
  const TileOrder order = tile_order<Tile>(dims);
  with_transposes(dims, [&](auto transpose_a, auto transpose_b) {
    const Launch config{blocks_for(batch.count * order.rows * order.columns, 1), Tile::kThreads,
                        Tile::kSharedBytes, stream};
    const auto start = [&](auto kernel) {
      launch(kernel, config, out, a, b, dims.k, dims.lda, dims.ldb, whole, order, batch);
    };
    if (bf16) {
      start(gemm_mma_tf32_kernel<RoundedBfloat16, Tile, transpose_a(), transpose_b()>);
    } else {
      start(gemm_mma_tf32_kernel<Tf32, Tile, transpose_a(), transpose_b()>);
    }
  });
}

}  // namespace

void gemm_mma_tf32_batched(float* c, const float* a, const float* b, const float* bias,
                           const GemmDims& dims, const GemmOptions& options, const GemmBatch& batch,
                           const Stream& stream) {
  const GemmOutput out = gemm_output(c, bias, dims, options, batch);
  const bool bf16 = options.mode == ComputeMode::bf16;
  const Whole whole = whole_operands(a, b, dims, batch);
  const auto run = [&](auto tile) {
    launch_tile<decltype(tile)>(out, a, b, dims, whole, batch, bf16, stream);
  };
  if (fills_device<Tile256>(dims, whole, batch.count, stream)) {
    run(Tile256{});
  } else if (fills_device<Tile128>(dims, whole, batch.count, stream)) {
    run(Tile128{});
  } else {
    run(Tile64{});
  }
}

void gemm_mma_tf32(float* c, const float* a, const float* b, const float* bias,
                   const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  gemm_mma_tf32_batched(c, a, b, bias, dims, options, GemmBatch{}, stream);
}

}  // namespace weft::kernels::cuda

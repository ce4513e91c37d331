// SPDX-License-Identifier: MIT
// GEMM, rung "warp_tiled": between the block's tile and the thread's, one for each warp.
//
//   block 128 x 128        warp 64 x 64               thread 16 x 8
//   +-------+-------+      lanes 4 x 8, each with     4 quads of rows by 2 quads of columns,
//   | warp0 | warp1 |      quads 16 rows and 32       128 sums in registers
//   +-------+-------+      columns apart
//   | warp2 | warp3 |
//   +-------+-------+
//
// A warp reads 64 + 64 floats of shared memory for 4096 multiply-adds; a thread does 128 of them
// for 6 loads of 16 bytes. Lanes share most of these loads: one has only 4 different quads of A or
// 8 of B. Fragments of the next step are loaded before this one is multiplied. 128 threads with up
// to 255 registers, two blocks on an SM; 33 KiB of shared memory.
#include "engine/launch.h"
#include "kernels/device/register_tile.cuh"
#include "kernels/gemm/parts/quad_stream.cuh"

namespace weft::kernels::cuda {
namespace {

struct Tile {
  static constexpr int kM = 128, kN = 128, kK = 16;
  static constexpr int kThreadM = 16, kThreadN = 8;
  static constexpr int kThreads = 128;
  static constexpr int kWarpM = 64, kWarpN = 64;
  static constexpr int kLaneRows = 4, kLaneColumns = 8;
  static constexpr int kStrideA = kM + 4, kStrideB = kN + 4;
  static constexpr int kStageFloats = kK * (kStrideA + kStrideB);
  static constexpr int kSharedFloats = 2 * kStageFloats;
};

// The place of a thread's quads in the tile: quad q of rows starts at row + 16 q, of columns at
// column + 32 q.
struct Place {
  static constexpr int kStepRow = 4 * Tile::kLaneRows, kStepColumn = 4 * Tile::kLaneColumns;
  int row, column;

  __device__ Place() {
    const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
    constexpr int kWarpColumns = Tile::kN / Tile::kWarpN;
    row = warp / kWarpColumns * Tile::kWarpM + lane / Tile::kLaneColumns * 4;
    column = warp % kWarpColumns * Tile::kWarpN + lane % Tile::kLaneColumns * 4;
  }
};

__device__ __forceinline__ void load_fragments(float (&a)[Tile::kThreadM],
                                               float (&b)[Tile::kThreadN], const float* stage,
                                               int k, const Place& place) {
  device::load_fragment<Tile::kThreadM, 4, Place::kStepRow>(a,
                                                            stage + k * Tile::kStrideA + place.row);
  device::load_fragment<Tile::kThreadN, 4, Place::kStepColumn>(
      b, stage + Tile::kK * Tile::kStrideA + k * Tile::kStrideB + place.column);
}

template <bool kTransposeA, bool kTransposeB>
__global__ void __launch_bounds__(Tile::kThreads, 2)
    gemm_warp_tiled_kernel(GemmOutput out, const float* __restrict__ a, const float* __restrict__ b,
                           std::int64_t k, std::int64_t lda, std::int64_t ldb,
                           std::int64_t column_tiles) {
  alignas(16) __shared__ float shared[Tile::kSharedFloats];  // 2 x (A (kK, kM+4), B (kK, kN+4))
  const std::int64_t row0 = blockIdx.x / column_tiles * Tile::kM;
  const std::int64_t column0 = blockIdx.x % column_tiles * Tile::kN;
  const Place place;
  float sum[Tile::kThreadM][Tile::kThreadN] = {};
  const auto multiply = [&](auto& sums, const float* stage) {
    float left[2][Tile::kThreadM], right[2][Tile::kThreadN];
    load_fragments(left[0], right[0], stage, 0, place);
#pragma unroll
    for (int step = 0; step < Tile::kK; ++step) {
      if (step + 1 < Tile::kK) {
        load_fragments(left[(step + 1) % 2], right[(step + 1) % 2], stage, step + 1, place);
      }
#pragma unroll
      for (int i = 0; i < Tile::kThreadM; ++i) {
#pragma unroll
        for (int j = 0; j < Tile::kThreadN; ++j) {
          sums[i][j] += left[step % 2][i] * right[step % 2][j];
        }
      }
    }
  };
  multiply_by_quads<Tile, decltype(multiply), kTransposeA, kTransposeB>(
      sum, shared, a, b, row0, column0, out.m, out.n, 0, k, lda, ldb, multiply);
#pragma unroll
  for (int i = 0; i < Tile::kThreadM; ++i) {
#pragma unroll
    for (int j = 0; j < Tile::kThreadN; j += 4) {
      const float4 quad = {sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]};
      store_quad(out, row0 + place.row + i / 4 * Place::kStepRow + i % 4,
                 column0 + place.column + j / 4 * Place::kStepColumn, quad);
    }
  }
}

}  // namespace

void gemm_warp_tiled(float* c, const float* a, const float* b, const float* bias,
                     const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  launch_tiles(c, a, b, bias, dims, options, {Tile::kM, Tile::kN, Tile::kThreads}, stream,
               [](auto transpose_a, auto transpose_b) {
                 return gemm_warp_tiled_kernel<transpose_a(), transpose_b()>;
               });
}

}  // namespace weft::kernels::cuda

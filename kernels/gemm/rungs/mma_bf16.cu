// SPDX-License-Identifier: MIT
// GEMM, rung "mma_bf16": bfloat16 in memory, fp32 sums, through mma.sync. sm_80 and later.
// mma_block.cuh tells the pipeline, mma_operand.cuh how operands lie in shared memory.
//
//   tile        warps  per warp  blocks of an SM  stages  shared memory  for
//   256 x 128   8      64 x 64   1                4       192 KiB        large products, sm_90
//   128 x 128   4      64 x 64   2                3       96 KiB         large products
//   64 x 64     4      32 x 32   2                4       64 KiB         a small C, odd rows
//
// A product has half the bytes of tf32, so a chunk is 64 long. There is nothing to round: ldmatrix
// delivers either order of an operand as mma wants it. A lane ends with pairs of neighbours in C;
// four lanes exchange theirs and store 16 bytes each. Rows that are not aligned to 16 bytes are
// copied element by element, which waits for memory.
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/gemm/tensor_core/mma_block.cuh"

namespace weft::kernels::cuda {
namespace {

using Tile256 = MmaTile<256, 128, 64, 64, 4, 1, true>;
using Tile128 = MmaTile<128, 128, 64, 64, 3, 2, true>;
using Tile64 = MmaTile<64, 64, 32, 32, 4, 2, false>;

using Output = MatrixOutput<Bfloat16>;

struct Bf16 {
  using Element = Bfloat16;
  template <int kX, bool kAlongK, bool kLeft>
  using Fragments = Bfloat16Fragments<kX, kAlongK, kLeft>;

  template <bool kAlongK, bool kLeft, int kCount>
  __device__ __forceinline__ static void prepare(std::uint32_t (&)[kCount][4]) {}

  template <int kPart, int kM, int kN>
  __device__ __forceinline__ static void multiply(float (&sums)[kM][kN][2][4],
                                                  const std::uint32_t (&a)[kM][4],
                                                  const std::uint32_t (&b)[kN][4]) {
#pragma unroll
    for (int i = kPart * kM / 2; i < (kPart + 1) * kM / 2; ++i) {
#pragma unroll
      for (int j = 0; j < kN; ++j) {
        device::mma_m16n8k16_bf16(sums[i][j][0], a[i], {b[j][0], b[j][1]});
        device::mma_m16n8k16_bf16(sums[i][j][1], a[i], {b[j][2], b[j][3]});
      }
    }
  }
};

// Lane 4 g + m gives word i to lane 4 g + i, which keeps it as its word m.
__device__ __forceinline__ void transpose_quads(std::uint32_t (&words)[4], int member) {
#pragma unroll
  for (int side = 1; side <= 2; side *= 2) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i & side) continue;
      const bool upper = (member & side) != 0;
      const std::uint32_t other =
          __shfl_xor_sync(0xffffffffu, upper ? words[i] : words[i + side], side);
      (upper ? words[i] : words[i + side]) = other;
    }
  }
}

__device__ __forceinline__ Bfloat16 half_of(std::uint32_t pair, int i) {
  return {static_cast<std::uint16_t>(pair >> (16 * i))};
}

// Eight neighbours in a row, from a column that is a multiple of 8.
__device__ __forceinline__ void store_eight(const Output& out, std::int64_t row,
                                            std::int64_t column, const std::uint32_t (&words)[4]) {
  if (row >= out.m) return;
  Bfloat16* to = out.c + row * out.ldc + column;
  if (out.vector && column + 7 < out.n) {
    *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (column + i < out.n) to[i] = half_of(words[i / 2], i % 2);
    }
  }
}

// The finished values for (row, column) and (row, column + 1); 0 outside of C.
__device__ __forceinline__ std::uint32_t finished_pair(const Output& out, std::int64_t row,
                                                       std::int64_t column, float low, float high) {
  const bool inside = row < out.m && column < out.n;
  const float first = inside ? finished(out, row, column, low) : 0.0f;
  const float second = inside && column + 1 < out.n ? finished(out, row, column + 1, high) : 0.0f;
  return device::to_bf16_pair(first, second);
}

template <class Tile>
__device__ __forceinline__ void store_sums(const Output& out, std::int64_t row0,
                                           std::int64_t column0, MmaSums<Tile>& sums) {
  const int lane = static_cast<int>(threadIdx.x) % 32, group = lane / 4, member = lane % 4;
  row0 += warp_row<Tile>();
  column0 += warp_column<Tile>();
  for_each_fragment<Tile>(sums, [&](int i, const auto& sum) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const std::int64_t row = row0 + bfloat16_place(i, h, group);
#pragma unroll
      for (int j = 0; j < Tile::kFragmentsN; j += 2) {  // 32 columns: 8 of each of four halves
        std::uint32_t words[4];
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          const float(&pair)[4] = sum[j + q / 2][q % 2];
          words[q] = finished_pair(out, row, column0 + bfloat16_place(j + q / 2, q % 2, 2 * member),
                                   pair[2 * h], pair[2 * h + 1]);
        }
        transpose_quads(words, member);
        if (out.beta != 0) __syncwarp();  // other lanes have read what this one overwrites
        store_eight(out, row, column0 + bfloat16_place(j + member / 2, member % 2, 0), words);
      }
    }
  });
}

template <class Tile, bool kTransposeA, bool kTransposeB>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    gemm_mma_bf16_kernel(Output out, const Bfloat16* __restrict__ a, const Bfloat16* __restrict__ b,
                         std::int64_t k, std::int64_t lda, std::int64_t ldb, Whole whole,
                         TileOrder order) {
  if constexpr (Tile::kSharedBytes <= device::kMaxSharedBytes) {
    uint4* shared_pieces = device::dynamic_shared<uint4>();  // kStages x (A chunk, B chunk)
    int tile_row, tile_column;
    order.place(static_cast<int>(blockIdx.x), tile_row, tile_column);
    const std::int64_t row0 = std::int64_t{tile_row} * Tile::kM;
    const std::int64_t column0 = std::int64_t{tile_column} * Tile::kN;
    MmaSums<Tile> sums = {};
    multiply_tile<Bf16, Tile, kTransposeA, kTransposeB>(
        sums, reinterpret_cast<char*>(shared_pieces), a, b, row0, column0, out.m, out.n, k, lda,
        ldb, whole, [] {});
    store_sums<Tile>(out, row0, column0, sums);
  }
}

template <class Tile>
void launch_tile(const Output& out, const Bfloat16* a, const Bfloat16* b, const GemmDims& dims,
                 const Whole& whole, const Stream& stream) {
  const TileOrder order = tile_order<Tile>(dims);
  const Launch config{blocks_for(std::int64_t{order.rows} * order.columns, 1), Tile::kThreads,
                      Tile::kSharedBytes, stream};
  with_transposes(dims, [&](auto transpose_a, auto transpose_b) {
    launch(gemm_mma_bf16_kernel<Tile, transpose_a(), transpose_b()>, config, out, a, b, dims.k,
           dims.lda, dims.ldb, whole, order);
  });
}

}  // namespace

void gemm_mma_bf16(Bfloat16* c, const Bfloat16* a, const Bfloat16* b, const float* bias,
                   const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  const Output out = gemm_output(c, bias, dims, options);
  const Whole whole = whole_operands(a, b, dims);
  if (fills_device<Tile256>(dims, whole, 1, stream)) {
    launch_tile<Tile256>(out, a, b, dims, whole, stream);
  } else if (fills_device<Tile128>(dims, whole, 1, stream)) {
    launch_tile<Tile128>(out, a, b, dims, whole, stream);
  } else {
    launch_tile<Tile64>(out, a, b, dims, whole, stream);
  }
}

}  // namespace weft::kernels::cuda

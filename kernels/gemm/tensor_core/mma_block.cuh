// SPDX-License-Identifier: MIT
// The block of a tensor-core GEMM by mma.sync: what mma_tf32, mma_bf16 and tf32x3 share.
//
//   memory --cp.async--> ring of chunks in shared memory --ldmatrix--> fragments --mma--> sums
//
// Copies run kStages - 1 chunks ahead of the arithmetic and take no registers. A chunk is four
// steps along k. The fragments of a step are read while the step before is multiplied, across the
// border of chunks too, so the tensor cores are busy during the one barrier of a chunk. Tiles are
// numbered in groups of eight rows of tiles: blocks that run at the same time share operands in L2.
#pragma once

#include "engine/launch.h"
#include "kernels/gemm/parts/store.cuh"
#include "kernels/gemm/parts/tile_order.cuh"
#include "kernels/gemm/tensor_core/mma_operand.cuh"

namespace weft::kernels::cuda {

// kBlocks: blocks that share an SM, which bounds the registers. kAligned: only for operands whose
// rows are whole pieces of 16 bytes.
template <int kM_, int kN_, int kWarpM_, int kWarpN_, int kStages_, int kBlocks_, bool kAligned_>
struct MmaTile {
  static constexpr int kM = kM_, kN = kN_, kWarpM = kWarpM_, kWarpN = kWarpN_;
  static constexpr int kStages = kStages_, kBlocks = kBlocks_;
  static constexpr bool kAligned = kAligned_;
  static constexpr int kWarpColumns = kN / kWarpN;
  static constexpr int kThreads = 32 * (kM / kWarpM) * kWarpColumns;
  static constexpr int kFragmentsM = kWarpM / 16, kFragmentsN = kWarpN / 16;
  static constexpr int kStageBytes = (kM + kN) * kChunkBytes;
  static constexpr std::size_t kSharedBytes = std::size_t{kStages} * kStageBytes;
  static_assert(kM % kWarpM == 0 && kN % kWarpN == 0 && kWarpM % 32 == 0 && kWarpN % 32 == 0,
                "warps tile the block, pairs of fragments the warp");
};

// Sums of a warp's tile: [row fragment][column fragment][column half][words of one mma].
template <class Tile>
using MmaSums = float[Tile::kFragmentsM][Tile::kFragmentsN][2][4];

// Tells whether each operand is stored in rows of whole pieces of 16 bytes.
struct Whole {
  bool a, b;
};

template <class Element>
Whole whole_operands(const Element* a, const Element* b, const GemmDims& dims,
                     const GemmBatch& batch = {}) {
  constexpr std::int64_t kPiece = 16 / sizeof(Element);
  return {rows_aligned(a, dims.lda, batch.stride_a) &&
              (dims.transpose_a ? dims.m : dims.k) % kPiece == 0,
          rows_aligned(b, dims.ldb, batch.stride_b) &&
              (dims.transpose_b ? dims.k : dims.n) % kPiece == 0};
}

// Does this tile take such operands, does it fit the device's shared memory, and has the product
// enough tiles to give nearly every SM `each` of them?
template <class Tile>
bool fills_device(const GemmDims& dims, const Whole& whole, std::int64_t products,
                  const Stream& stream, std::int64_t each = 1) {
  if (Tile::kAligned && !(whole.a && whole.b)) return false;
  const DeviceProperties& device = device_properties(stream.device());
  const TileOrder order = tile_order<Tile>(dims);
  return device.shared_bytes_per_block >= Tile::kSharedBytes && dims.m > Tile::kM / 2 &&
         dims.n > Tile::kN / 2 &&
         products * order.rows * order.columns >= each * device.multiprocessors * 9 / 10;
}

// The corner of this thread's warp in a block's tile.
template <class Tile>
__device__ __forceinline__ int warp_row() {
  return static_cast<int>(threadIdx.x) / 32 / Tile::kWarpColumns * Tile::kWarpM;
}
template <class Tile>
__device__ __forceinline__ int warp_column() {
  return static_cast<int>(threadIdx.x) / 32 % Tile::kWarpColumns * Tile::kWarpN;
}

// The tile of C at (row0, column0), by all threads of the block; `sums` is what this lane holds.
// Math says how fragments are prepared, in place and half a step after they were read, and how they
// are multiplied, in two halves of the rows; after_chunk() is called behind every chunk.
template <class Math, class Tile, bool kTransposeA, bool kTransposeB, class AfterChunk>
__device__ __forceinline__ void multiply_tile(MmaSums<Tile>& sums, char* shared,
                                              const typename Math::Element* __restrict__ a,
                                              const typename Math::Element* __restrict__ b,
                                              std::int64_t row0, std::int64_t column0,
                                              std::int64_t m, std::int64_t n, std::int64_t k,
                                              std::int64_t lda, std::int64_t ldb, Whole whole,
                                              const AfterChunk& after_chunk) {
  using Element = typename Math::Element;
  using CopyA = MmaCopy<Element, Tile::kM, !kTransposeA, Tile::kThreads, Tile::kAligned>;
  using CopyB = MmaCopy<Element, Tile::kN, kTransposeB, Tile::kThreads, Tile::kAligned>;
  constexpr int kK = CopyA::Chunk::kK;
  CopyA a_copy(a, row0, m, lda, whole.a);
  CopyB b_copy(b, column0, n, ldb, whole.b);
  std::int64_t k_left = k;  // of chunks whose copy has not begun
  const auto begin = [&] {
    a_copy.begin(k_left);
    b_copy.begin(k_left);
    k_left -= kK;
  };
  const auto copy = [&](char* stage, int part) {
    a_copy.copy(stage, part);
    b_copy.copy(stage + CopyA::Chunk::kBytes, part);
  };

  const int lane = static_cast<int>(threadIdx.x) % 32;
  const typename Math::template Fragments<Tile::kM, !kTransposeA, true> a_lane(warp_row<Tile>(),
                                                                               lane);
  const typename Math::template Fragments<Tile::kN, kTransposeB, false> b_lane(warp_column<Tile>(),
                                                                               lane);
  std::uint32_t a_words[2][Tile::kFragmentsM][4], b_words[2][Tile::kFragmentsN][4];
  const auto load = [&](int buffer, const char* stage, int step) {
    a_lane.load(a_words[buffer], stage, step);
    b_lane.load(b_words[buffer], stage + CopyA::Chunk::kBytes, step);
  };
  const auto prepare = [&](int buffer) {
    Math::template prepare<!kTransposeA, true>(a_words[buffer]);
    Math::template prepare<kTransposeB, false>(b_words[buffer]);
  };

#pragma unroll 1
  for (int stage = 0; stage < Tile::kStages - 1; ++stage) {
    begin();
#pragma unroll
    for (int part = 0; part < kChunkSteps; ++part) copy(shared + stage * Tile::kStageBytes, part);
    device::async_commit();
  }
  device::async_wait<Tile::kStages - 2>();
  __syncthreads();  // the first chunk is there
  load(0, shared, 0);
  prepare(0);
  char* const last = shared + (Tile::kStages - 1) * Tile::kStageBytes;
  char* now = shared;
  char* filled = last;  // the stage that is filled next: the one read before `now`
#pragma unroll 1
  for (std::int64_t done = 0; done < k; done += kK) {
    char* const next = now == last ? shared : now + Tile::kStageBytes;
    begin();
#pragma unroll
    for (int step = 0; step < kChunkSteps; ++step) {
      if (step + 1 < kChunkSteps) {
        load((step + 1) % 2, now, step + 1);
      } else {
        load((step + 1) % 2, next, 0);
      }
      if (step < kChunkSteps - 1) copy(filled, step);
      if (step == kChunkSteps - 2) {
        copy(filled, kChunkSteps - 1);
        device::async_commit();
        device::async_wait<Tile::kStages - 2>();
        __syncthreads();  // the next chunk is there for all, and this one read by all
      }
      Math::template multiply<0>(sums, a_words[step % 2], b_words[step % 2]);
      prepare((step + 1) % 2);
      Math::template multiply<1>(sums, a_words[step % 2], b_words[step % 2]);
    }
    after_chunk();
    filled = now;
    now = next;
  }
  device::async_wait<0>();
}

// Calls store(fragment of rows, its sums). With more than two fragments the loop is not unrolled,
// so that the code of an epilogue is short: the sums of the next fragment move to the registers of
// the first. With two fragments those moves would cost small products several percent of their
// time.
template <class Tile, class Store>
__device__ __forceinline__ void for_each_fragment(MmaSums<Tile>& sums, const Store& store) {
#pragma unroll(Tile::kFragmentsM > 2 ? 1 : 2)
  for (int i = 0; i < Tile::kFragmentsM; ++i) {
    store(i, sums[0]);
#pragma unroll
    for (int next = 1; next < Tile::kFragmentsM; ++next) {
#pragma unroll
      for (int w = 0; w < 8 * Tile::kFragmentsN; ++w) {
        sums[next - 1][w / 8][w / 4 % 2][w % 4] = sums[next][w / 8][w / 4 % 2][w % 4];
      }
    }
  }
}

// Sums of floats, in the order of float_place(): quads along a row. For kShort see store_quad().
template <class Tile, bool kShort = true>
__device__ __forceinline__ void store_float_sums(const GemmOutput& out, std::int64_t row0,
                                                 std::int64_t column0, MmaSums<Tile>& sums) {
  const int lane = static_cast<int>(threadIdx.x) % 32, group = lane / 4, member = lane % 4;
  row0 += warp_row<Tile>();
  column0 += warp_column<Tile>();
  for_each_fragment<Tile>(sums, [&](int i, const auto& sum) {
#pragma unroll
    for (int r = 0; r < 4; ++r) {  // words 0, 1: rows low; of column groups 2 member and the next
      const std::int64_t row = row0 + float_place(i, r / 2, group);
#pragma unroll
      for (int j = 0; j < Tile::kFragmentsN; j += 2) {
        const float4 quad = {sum[j][0][r], sum[j][1][r], sum[j + 1][0][r], sum[j + 1][1][r]};
        store_quad<kShort>(out, row, column0 + float_place(j, 0, 2 * member + r % 2), quad);
      }
    }
  });
}

}  // namespace weft::kernels::cuda

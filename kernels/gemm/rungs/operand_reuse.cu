// SPDX-License-Identifier: MIT
// GEMM, rung "operand_reuse": multiply-adds in an order that the register file can feed.
//
// The model behind it (NOTES.md tells what came of it): a scheduler of Hopper issues a multiply-add
// each cycle, but the registers of a warp lie in two banks (even and odd numbers), and a bank gives
// one operand a cycle. That is two operands for an instruction that reads three. The third must be
// one that an instruction shortly before has read in the same place, and that the operand cache
// still has (".reuse" in the machine code).
//
//   -> -> -> -> -> -> -> ->     the sums of a thread are computed a row forth and the next one
//   <- <- <- <- <- <- <- <-     back: each multiply-add shares a value of A with the one before,
//   -> -> -> -> -> -> -> ->     and at the turns one of B
//
// If every row began at the left, the first multiply-add of each would read three registers: 2.13
// to 2.16 operands per multiply-add in the machine code, instead of 1.97 to 2.01. The other half of
// the work is to keep everything else out of the loop:
//
//   a step of k    128 multiply-adds, 6 loads of 16 bytes of shared memory for the next step
//   the loop       two steps, 256 of 273 instructions; longer bodies tempt the compiler to put
//                  loads right before their use
//   a chunk of k   its first step's loads are covered by the last step of the chunk before, which
//                  is multiplied behind the barrier
//   copies         three stages; no checks where tile and chunk are whole and aligned
//
// A tile is 128 x 128 by 128 threads of up to 255 registers, with 50 KiB of shared memory. Of two
// blocks on an SM one computes while the other waits at a barrier or stores. Where these tiles
// would not fill the GPU, they are 64 x 128 by four groups of two warps, each with its part of
// every chunk, and take 75 KiB. The sums of the groups are added in order. Register banks and
// operand caches: Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking",
// 2018; Huerta et al., "Analyzing Modern NVIDIA GPU cores", 2025.
#include "engine/device.h"
#include "engine/launch.h"
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/device/register_tile.cuh"
#include "kernels/gemm/parts/chunk_stream.cuh"
#include "kernels/gemm/parts/store.cuh"
#include "kernels/gemm/parts/tile_order.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kThreadM = 16, kThreadN = 8;  // sums of a thread
constexpr int kWarp = 64;                   // sides of a warp's tile
constexpr int kStages = 3;

// kGroups groups of warps hold the same (kM, kN) tile of C and take kSteps steps each of a chunk.
template <int kM_, int kN_, int kGroups_, int kSteps_>
struct GroupedTile {
  static constexpr int kM = kM_, kN = kN_, kGroups = kGroups_, kSteps = kSteps_;
  static constexpr int kWarpColumns = kN / kWarp, kGroupWarps = kM / kWarp * kWarpColumns;
  static constexpr int kThreads = 32 * kGroupWarps * kGroups;
  static constexpr int kBlocks = 256 / kThreads;  // on an SM
  static constexpr int kK = kSteps * kGroups;
  static constexpr int kStrideA = kM + 4, kStrideB = kN + 4;
  static constexpr int kStageFloats = kK * (kStrideA + kStrideB);
  static constexpr std::size_t kSharedBytes = kStages * kStageFloats * sizeof(float);
  // A quarter of the rows leaves at a time, through the memory of the stages.
  static constexpr int kRowsOut = kM / 4, kPartFloats = kRowsOut * kStrideB;
  static_assert(kGroups * kPartFloats <= kStages * kStageFloats, "the parts fit in the stages");
  static_assert(kSteps % 2 == 0, "the loop takes two steps");
};
using Large = GroupedTile<128, 128, 1, 16>;
using Medium = GroupedTile<64, 128, 4, 8>;

// sum += a b^T, a row forth and the next one back.
__device__ __forceinline__ void multiply(float (&sum)[kThreadM][kThreadN],
                                         const float (&a)[kThreadM], const float (&b)[kThreadN]) {
#pragma unroll
  for (int i = 0; i < kThreadM; ++i) {
#pragma unroll
    for (int e = 0; e < kThreadN; ++e) {
      const int j = i % 2 == 0 ? e : kThreadN - 1 - e;
      sum[i][j] += a[i] * b[j];
    }
  }
}

// The place of a thread: quads of its rows are 16 rows apart, quads of its columns 32 columns.
template <class Tile>
struct WarpPlace {
  int group, warp_row, row, column;  // row: in the tile of the warp; column: in that of the block

  __device__ WarpPlace() {
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
    const int warp = thread / 32 % Tile::kGroupWarps;
    group = thread / 32 / Tile::kGroupWarps;
    warp_row = warp / Tile::kWarpColumns;
    row = lane / 8 * 4;
    column = warp % Tile::kWarpColumns * kWarp + lane % 8 * 4;
  }
};

// Adds the groups' parts and stores the tile at (row0, column0), by way of `shared`, a quarter of
// the rows at a time. All threads of the block call it.
template <class Tile>
__device__ __forceinline__ void store_parts(const GemmOutput& out, float* shared,
                                            const float (&sum)[kThreadM][kThreadN],
                                            const WarpPlace<Tile>& place, std::int64_t row0,
                                            std::int64_t column0) {
  float* part = shared + place.group * Tile::kPartFloats +
                (place.warp_row * 16 + place.row) * Tile::kStrideB + place.column;
#pragma unroll
  for (int q = 0; q < kThreadM / 4; ++q) {
    __syncthreads();  // what is in `shared` has been read
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < kThreadN; j += 4) {
        const float(&from)[kThreadN] = sum[4 * q + i];
        *reinterpret_cast<float4*>(part + i * Tile::kStrideB + 8 * j) = {from[j], from[j + 1],
                                                                         from[j + 2], from[j + 3]};
      }
    }
    __syncthreads();
#pragma unroll 1
    for (int e = static_cast<int>(threadIdx.x); e < Tile::kRowsOut * (Tile::kN / 4);
         e += Tile::kThreads) {
      const int row = e / (Tile::kN / 4), column = e % (Tile::kN / 4) * 4;
      float4 total = {0, 0, 0, 0};
#pragma unroll
      for (int group = 0; group < Tile::kGroups; ++group) {
        const float4 v = *reinterpret_cast<const float4*>(shared + group * Tile::kPartFloats +
                                                          row * Tile::kStrideB + column);
        total.x += v.x, total.y += v.y, total.z += v.z, total.w += v.w;
      }
      store_quad(out, row0 + row / 16 * kWarp + q * 16 + row % 16, column0 + column, total);
    }
  }
}

template <class Tile, bool kTransposeA, bool kTransposeB>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    gemm_operand_reuse_kernel(GemmOutput out, const float* __restrict__ a,
                              const float* __restrict__ b, std::int64_t k, std::int64_t lda,
                              std::int64_t ldb, TileOrder order) {
  // kStages x (A (kK, kM+4), B (kK, kN+4))
  float* shared = reinterpret_cast<float*>(device::dynamic_shared<float4>());
  int tile_row = 0, tile_column = 0;
  order.place(static_cast<int>(blockIdx.x), tile_row, tile_column);
  const std::int64_t row0 = std::int64_t{tile_row} * Tile::kM;
  const std::int64_t column0 = std::int64_t{tile_column} * Tile::kN;
  ChunkStream<Tile, Tile::kM, !kTransposeA> a_stream(a, row0, out.m, lda);
  ChunkStream<Tile, Tile::kN, kTransposeB> b_stream(b, column0, out.n, ldb);
  const int chunks = static_cast<int>(divide_up(k, Tile::kK));  // of k up to 2^35
  const int whole_chunks =
      a_stream.whole() && b_stream.whole() ? static_cast<int>(k / Tile::kK) : 0;
  const auto fill = [&](int chunk, float* stage) {
    float* b_stage = stage + Tile::kK * Tile::kStrideA;
    if (chunk + 1 < whole_chunks) {
      a_stream.template fill<true>(stage, 0);
      b_stream.template fill<true>(b_stage, 0);
    } else if (chunk < chunks) {
      a_stream.template fill<false>(stage, k - std::int64_t{chunk} * Tile::kK);
      b_stream.template fill<false>(b_stage, k - std::int64_t{chunk} * Tile::kK);
    }
    device::async_commit();  // also when empty: groups are counted
  };
  if constexpr (!kTransposeA) a_stream.template load<false>(k);
  if constexpr (kTransposeB) b_stream.template load<false>(k);
#pragma unroll 1
  for (int stage = 0; stage < kStages - 1; ++stage) {
    fill(stage, shared + stage * Tile::kStageFloats);
  }

  const WarpPlace<Tile> place;
  const int a_first =
      place.group * Tile::kSteps * Tile::kStrideA + place.warp_row * kWarp + place.row;
  const int b_first =
      Tile::kK * Tile::kStrideA + place.group * Tile::kSteps * Tile::kStrideB + place.column;
  float sum[kThreadM][kThreadN] = {};
  float left[2][kThreadM] = {}, right[2][kThreadN] = {};
  constexpr int kRing = kStages * Tile::kStageFloats;
  int stage = 0, before = kRing - Tile::kStageFloats;
#pragma unroll 1
  for (int chunk = 0; chunk < chunks; ++chunk) {
    device::async_wait<kStages - 2>();
    __syncthreads();  // this stage has arrived for all threads, and the one before is free
    fill(chunk + kStages - 1, shared + before);
    const float *a_at = shared + a_first + stage, *b_at = shared + b_first + stage;
#pragma unroll 1
    for (int step = 0; step < Tile::kSteps; step += 2) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        device::load_fragment<kThreadM, 4, 16>(left[half], a_at + half * Tile::kStrideA);
        device::load_fragment<kThreadN, 4, 32>(right[half], b_at + half * Tile::kStrideB);
        multiply(sum, left[1 - half], right[1 - half]);  // of the step before; zeros at first
      }
      a_at += 2 * Tile::kStrideA;
      b_at += 2 * Tile::kStrideB;
    }
    before = stage;
    stage = stage + Tile::kStageFloats == kRing ? 0 : stage + Tile::kStageFloats;
  }
  multiply(sum, left[1], right[1]);
  store_parts<Tile>(out, shared, sum, place, row0, column0);
}

template <class Tile>
void run(const GemmOutput& out, const float* a, const float* b, const GemmDims& dims,
         const Stream& stream) {
  const TileOrder order = tile_order<Tile>(dims);
  const Launch config{blocks_for(std::int64_t{order.rows} * order.columns, 1), Tile::kThreads,
                      Tile::kSharedBytes, stream};
  with_transposes(dims, [&](auto transpose_a, auto transpose_b) {
    launch(gemm_operand_reuse_kernel<Tile, transpose_a(), transpose_b()>, config, out, a, b, dims.k,
           dims.lda, dims.ldb, order);
  });
}

// The time of the slowest SM, where a tile of 128 x 128 takes 1 when two share the SM.
double large_time(const GemmDims& dims, int multiprocessors) {
  const TileOrder order = tile_order<Large>(dims);
  const std::int64_t tiles = std::int64_t{order.rows} * order.columns;
  const std::int64_t both = Large::kBlocks * multiprocessors, rest = tiles % both;
  const std::int64_t full = tiles / both;
  const double alone = 1.25;  // one block leaves cycles unused
  const double last = rest == 0 ? 0 : rest <= multiprocessors ? alone : 2;
  return 2 * static_cast<double>(full) + last;
}
double medium_time(const GemmDims& dims, int multiprocessors) {
  const TileOrder order = tile_order<Medium>(dims);
  const std::int64_t tiles = std::int64_t{order.rows} * order.columns;
  const double each = 0.52;  // of half the size, and the parts have to be added
  return each * static_cast<double>(divide_up(tiles, multiprocessors));
}

}  // namespace

void gemm_operand_reuse(float* c, const float* a, const float* b, const float* bias,
                        const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  const GemmOutput out = gemm_output(c, bias, dims, options);
  const DeviceProperties& device = device_properties(stream.device());
  const bool medium =
      device.shared_bytes_per_block >= Medium::kSharedBytes &&
      medium_time(dims, device.multiprocessors) < large_time(dims, device.multiprocessors);
  if (medium) {
    run<Medium>(out, a, b, dims, stream);
  } else {
    run<Large>(out, a, b, dims, stream);
  }
}

}  // namespace weft::kernels::cuda

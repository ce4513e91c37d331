// SPDX-License-Identifier: MIT
// GEMM, rung "pipelined": operands go to shared memory by asynchronous copies, in a ring of stages.
//
//   stage    | c: multiplied now | c + 1: arrived or nearly | c + 2: in flight |
//
// cp.async takes no registers on the way and no thread waits for it: two chunks are always in
// flight while a third is multiplied, which hides the memory latency, and one barrier for each
// chunk is enough. Operands whose rows run along the tile are copied 16 bytes at a time; those that
// must be transposed, to k-major, float by float. The tile is 128 x 128 with 8 x 8 results in each
// of 256 threads, chunks of 16 of k; 50 KiB of shared memory, at most 128 registers. GPUs before
// sm_80 copy at once.
#include "engine/launch.h"
#include "kernels/device/async_copy.cuh"
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/device/register_tile.cuh"
#include "kernels/gemm/launchers.h"
#include "kernels/gemm/parts/store.cuh"

namespace weft::kernels::cuda {
namespace {

using Tile = device::RegisterTile<128, 128, 16, 8, 8>;
constexpr int kStages = 3;
constexpr std::size_t kSharedBytes = kStages * Tile::kStageFloats * sizeof(float);

// Copies one operand of a block, chunk after chunk along k.
template <int kX, int kStride, bool kAlongK>
struct AsyncStream {
  using Map = device::TileMap<kX, Tile::kK, Tile::kThreads, true>;  // float by float, along k
  static constexpr int kQuads = kX / 4;
  static constexpr int kStepK = Tile::kThreads / kQuads;
  static constexpr int kCount =
      kAlongK ? Map::kCount : kX * Tile::kK / 4 / Tile::kThreads;  // copies of a thread

  int k, x;
  const float* next;
  std::int64_t row_step, chunk_step;
  int extent;
  bool vector;

  __device__ AsyncStream(const float* operand, std::int64_t x0, std::int64_t x_extent,
                         std::int64_t ld) {
    const int thread = static_cast<int>(threadIdx.x);
    const Map map(thread);
    k = kAlongK ? map.k : thread / kQuads;
    x = kAlongK ? map.x : thread % kQuads * 4;
    next = operand + (kAlongK ? (x0 + x) * ld + k : k * ld + x0 + x);
    row_step = ld * (kAlongK ? Map::kStepX : kStepK);
    chunk_step = kAlongK ? Tile::kK : Tile::kK * ld;
    extent = static_cast<int>(min(x_extent - x0, std::int64_t{kX}));
    vector = reinterpret_cast<std::uintptr_t>(operand) % 16 == 0 && ld % 4 == 0;
  }

  __device__ __forceinline__ void copy(float* stage, std::int64_t k_left) {
    const int depth = static_cast<int>(min(k_left, std::int64_t{Tile::kK}));
    const float* from = next;
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      if constexpr (kAlongK) {
        const int row = x + e * Map::kStepX;
        device::async_copy_float(stage + k * kStride + row, from, row < extent && k < depth);
      } else {
        const int row = k + e * kStepK;
        float* to = stage + row * kStride + x;
        const int floats = row < depth ? max(0, min(4, extent - x)) : 0;
        if (vector) {
          device::async_copy_float4(to, from, floats);
        } else {
          for (int i = 0; i < 4; ++i) device::async_copy_float(to + i, from + i, i < floats);
        }
      }
      from += row_step;
    }
    next += chunk_step;
  }
};

template <bool kTransposeA, bool kTransposeB>
__global__ void __launch_bounds__(Tile::kThreads, 2)
    gemm_pipelined_kernel(GemmOutput out, const float* __restrict__ a, const float* __restrict__ b,
                          std::int64_t k, std::int64_t lda, std::int64_t ldb,
                          std::int64_t column_tiles) {
  float4* shared_quads =
      device::dynamic_shared<float4>();  // kStages x (A (kK, kM+4), B (kK, kN+4))
  float* shared = reinterpret_cast<float*>(shared_quads);
  const std::int64_t row0 = blockIdx.x / column_tiles * Tile::kM;
  const std::int64_t column0 = blockIdx.x % column_tiles * Tile::kN;
  AsyncStream<Tile::kM, Tile::kStrideA, !kTransposeA> a_stream(a, row0, out.m, lda);
  AsyncStream<Tile::kN, Tile::kStrideB, kTransposeB> b_stream(b, column0, out.n, ldb);
  const device::TilePlace<Tile> place(static_cast<int>(threadIdx.x));
  std::int64_t k_left = k;  // of chunks whose copy has not begun
  const auto copy = [&](int stage) {
    if (k_left > 0) {
      float* to = shared + stage * Tile::kStageFloats;
      a_stream.copy(to, k_left);
      b_stream.copy(to + Tile::kK * Tile::kStrideA, k_left);
    }
    device::async_commit();  // also when empty: groups are counted
    k_left -= Tile::kK;
  };
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) copy(stage);

  float sum[Tile::kThreadM][Tile::kThreadN] = {};
  int stage = 0;
  for (std::int64_t done = 0; done < k; done += Tile::kK) {
    device::async_wait<kStages - 2>();
    __syncthreads();  // this stage has arrived for all threads, and the one before is free
    copy(stage == 0 ? kStages - 1 : stage - 1);
    device::multiply_chunk<Tile>(sum, shared + stage * Tile::kStageFloats, place);
    stage = stage + 1 == kStages ? 0 : stage + 1;
  }
  device::store_tile<Tile>(sum, shared, place, [&](int row, int column, float4 quad) {
    store_quad(out, row0 + row, column0 + column, quad);
  });
}

}  // namespace

void gemm_pipelined(float* c, const float* a, const float* b, const float* bias,
                    const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  launch_tiles(c, a, b, bias, dims, options, {Tile::kM, Tile::kN, Tile::kThreads, kSharedBytes},
               stream, [](auto transpose_a, auto transpose_b) {
                 return gemm_pipelined_kernel<transpose_a(), transpose_b()>;
               });
}

}  // namespace weft::kernels::cuda

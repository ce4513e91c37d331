// SPDX-License-Identifier: MIT
// Reads one GEMM operand of a block, chunk after chunk along k, by loads of 16 bytes.
//
// A quad lies along the operand's rows in memory. When those run along the tile (x: m or n), it is
// stored to k-major shared memory as it is. When they run along k, its four values go to four rows
// of shared memory: lanes take 2 neighbouring quads of 16 neighbouring rows, which makes whole
// 32-byte sectors, and with rows of kX + 4 floats the lanes hit 32 different banks.
#pragma once

#include "kernels/gemm/parts/store.cuh"

namespace weft::kernels::cuda {

template <int kX, int kK, int kThreads, bool kAlongK>
struct QuadStream {
  static constexpr int kCount = kX * kK / 4 / kThreads;  // quads of a thread
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kStepK = kAlongK ? 0 : kThreads / (kX / 4);
  static constexpr int kPatches = kAlongK ? kK / 8 : 1;  // warps side by side along k
  static constexpr int kStepX = kAlongK ? kWarps / kPatches * 16 : 0;
  static_assert(kX * kK % (4 * kThreads) == 0, "every thread copies the same number of quads");
  static_assert(kAlongK ? kK % 8 == 0 && kWarps % kPatches == 0 && kX % kStepX == 0
                        : kThreads % (kX / 4) == 0,
                "k or x is the same for all quads of a thread");

  int k, x;           // of the thread's first quad in a chunk
  const float* next;  // this quad in the next chunk
  std::int64_t row_step, chunk_step;
  int extent;   // rows or columns of the tile that exist
  bool vector;  // rows start on 16-byte boundaries

  __device__ QuadStream(const float* operand, std::int64_t x0, std::int64_t x_extent,
                        std::int64_t k0, std::int64_t ld) {
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
    k = kAlongK ? warp % kPatches * 8 + lane % 2 * 4 : thread / (kX / 4);
    x = kAlongK ? warp / kPatches * 16 + lane / 2 : thread % (kX / 4) * 4;
    next = operand + (kAlongK ? (x0 + x) * ld + k0 + k : (k0 + k) * ld + x0 + x);
    row_step = ld * (kAlongK ? kStepX : kStepK);
    chunk_step = kAlongK ? kK : kK * ld;
    extent = static_cast<int>(min(x_extent - x0, std::int64_t{kX}));
    vector = reinterpret_cast<std::uintptr_t>(operand) % 16 == 0 && ld % 4 == 0 && k0 % 4 == 0;
  }

  // k_left: what is left of k from this chunk on.
  __device__ __forceinline__ void load(float4 (&quads)[kCount], std::int64_t k_left) {
    const int depth = static_cast<int>(min(k_left, std::int64_t{kK}));
    const float* from = next;
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      const int row = kAlongK ? x + e * kStepX : k + e * kStepK;
      const int column = kAlongK ? k : x;
      const int rows = kAlongK ? extent : depth, columns = kAlongK ? depth : extent;
      if (row < rows && column + 3 < columns && vector) {
        quads[e] = __ldg(reinterpret_cast<const float4*>(from));
      } else {
        const auto one = [&](int i) {
          return row < rows && column + i < columns ? __ldg(from + i) : 0.0f;
        };
        quads[e] = make_float4(one(0), one(1), one(2), one(3));
      }
      from += row_step;
    }
    next += chunk_step;
  }

  template <int kStride>
  __device__ __forceinline__ void store(float* shared, const float4 (&quads)[kCount]) const {
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      float* to = shared + (k + e * kStepK) * kStride + x + e * kStepX;
      if constexpr (kAlongK) {
        to[0] = quads[e].x;
        to[kStride] = quads[e].y;
        to[2 * kStride] = quads[e].z;
        to[3 * kStride] = quads[e].w;
      } else {
        *reinterpret_cast<float4*>(to) = quads[e];
      }
    }
  }
};

// Sums of k in [k_begin, k_end) of the tile at (row0, column0), by all threads of the block: two
// stages of chunks, the next one travelling through registers while this one is multiplied. `sum`
// holds this thread's part; `shared` has Tile::kSharedFloats floats, and is free on return.
template <class Tile, class Multiply, bool kTransposeA, bool kTransposeB>
__device__ __forceinline__ void multiply_by_quads(float (&sum)[Tile::kThreadM][Tile::kThreadN],
                                                  float* shared, const float* __restrict__ a,
                                                  const float* __restrict__ b, std::int64_t row0,
                                                  std::int64_t column0, std::int64_t m,
                                                  std::int64_t n, std::int64_t k_begin,
                                                  std::int64_t k_end, std::int64_t lda,
                                                  std::int64_t ldb, const Multiply& multiply) {
  using StreamA = QuadStream<Tile::kM, Tile::kK, Tile::kThreads, !kTransposeA>;
  using StreamB = QuadStream<Tile::kN, Tile::kK, Tile::kThreads, kTransposeB>;
  StreamA a_stream(a, row0, m, k_begin, lda);
  StreamB b_stream(b, column0, n, k_begin, ldb);
  float4 a_next[StreamA::kCount], b_next[StreamB::kCount];
  const auto load = [&](std::int64_t k_left) {
    a_stream.load(a_next, k_left);
    b_stream.load(b_next, k_left);
  };
  const auto store = [&](float* stage) {
    a_stream.template store<Tile::kStrideA>(stage, a_next);
    b_stream.template store<Tile::kStrideB>(stage + Tile::kK * Tile::kStrideA, b_next);
  };
  load(k_end - k_begin);
  store(shared);
  __syncthreads();
  int stage = 0;
  for (std::int64_t k_left = k_end - k_begin; k_left > 0; k_left -= Tile::kK) {
    const bool more = k_left > Tile::kK;
    if (more) load(k_left - Tile::kK);
    multiply(sum, shared + stage * Tile::kStageFloats);
    stage ^= 1;
    if (more) store(shared + stage * Tile::kStageFloats);
    __syncthreads();  // the next stage is written, and this one free
  }
}

}  // namespace weft::kernels::cuda

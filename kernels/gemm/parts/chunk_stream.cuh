// SPDX-License-Identifier: MIT
// Brings one operand of a block to k-major shared memory, chunk after chunk along k. Rows that run
// along the tile are copied asynchronously. Those that run along k are transposed: they pass
// through registers, one chunk ahead. Lanes take 2 neighbouring quads of 16 rows, which are whole
// sectors of memory, and store to 32 different banks.
#pragma once

#include <cstdint>

#include "kernels/device/async_copy.cuh"

namespace weft::kernels::cuda {

// Tile has kThreads and kK, kX is its kM or kN; rows of shared memory are kX + 4 floats. kAlongK:
// the rows of the operand in memory run along k.
template <class Tile, int kX, bool kAlongK>
struct ChunkStream {
  static constexpr int kStride = kX + 4;
  static constexpr int kCount = kX * Tile::kK / 4 / Tile::kThreads;  // quads of a thread
  static constexpr int kPatches = Tile::kK / 8;                      // warps side by side along k
  static constexpr int kStepK = kAlongK ? 0 : Tile::kThreads / (kX / 4);
  static constexpr int kStepX = kAlongK ? Tile::kThreads / 32 / kPatches * 16 : 0;
  static_assert(kX * Tile::kK % (4 * Tile::kThreads) == 0, "threads copy the same number of quads");
  static_assert(kAlongK ? Tile::kThreads / 32 % kPatches == 0 && kX % kStepX == 0
                        : Tile::kThreads % (kX / 4) == 0,
                "k or x is the same for all quads of a thread");

  int k, x;           // of the thread's first quad in a chunk
  const float* next;  // this quad in the next chunk
  std::int64_t row_step, chunk_step;
  int extent;   // rows or columns of the tile that exist
  bool vector;  // rows start on 16-byte boundaries
  float4 held[kCount];

  __device__ ChunkStream(const float* operand, std::int64_t x0, std::int64_t x_extent,
                         std::int64_t ld) {
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
    k = kAlongK ? warp % kPatches * 8 + lane % 2 * 4 : thread / (kX / 4);
    x = kAlongK ? warp / kPatches * 16 + lane / 2 : thread % (kX / 4) * 4;
    next = operand + (kAlongK ? (x0 + x) * ld + k : k * ld + x0 + x);
    row_step = ld * (kAlongK ? kStepX : kStepK);
    chunk_step = kAlongK ? Tile::kK : Tile::kK * ld;
    extent = static_cast<int>(min(x_extent - x0, std::int64_t{kX}));
    vector = reinterpret_cast<std::uintptr_t>(operand) % 16 == 0 && ld % 4 == 0;
  }

  __device__ bool whole() const { return vector && extent == kX; }

  // Fills `stage` with a chunk that k_left of k remain for. kWhole: that chunk, the one behind
  // it and the tile are whole.
  template <bool kWhole>
  __device__ __forceinline__ void fill(float* stage, std::int64_t k_left) {
    if constexpr (kAlongK) {
      store(stage);
      load<kWhole>(k_left - Tile::kK);
    } else {
      copy<kWhole>(stage, k_left);
    }
  }

  template <bool kWhole>
  __device__ __forceinline__ void load(std::int64_t k_left) {
    const float* from = next;
#pragma unroll
    for (int e = 0; e < kCount; ++e, from += row_step) {
      if constexpr (kWhole) {
        held[e] = __ldg(reinterpret_cast<const float4*>(from));
      } else {
        const auto one = [&](int i) {
          return x + e * kStepX < extent && k + i < k_left ? __ldg(from + i) : 0.0f;
        };
        held[e] = make_float4(one(0), one(1), one(2), one(3));
      }
    }
    next += chunk_step;
  }

 private:
  __device__ __forceinline__ void store(float* stage) const {
    float* to = stage + k * kStride + x;
#pragma unroll
    for (int e = 0; e < kCount; ++e, to += kStepX) {
      to[0] = held[e].x, to[kStride] = held[e].y;
      to[2 * kStride] = held[e].z, to[3 * kStride] = held[e].w;
    }
  }

  template <bool kWhole>
  __device__ __forceinline__ void copy(float* stage, std::int64_t k_left) {
    const float* from = next;
    float* to = stage + k * kStride + x;
#pragma unroll kWhole ? kCount : 1
    for (int e = 0; e < kCount; ++e, from += row_step, to += kStepK * kStride) {
      const int floats = k + e * kStepK < k_left ? max(0, min(4, extent - x)) : 0;
      if (kWhole || vector) {
        device::async_copy_float4(to, from, kWhole ? 4 : floats);
      } else {
        for (int i = 0; i < 4; ++i) device::async_copy_float(to + i, from + i, i < floats);
      }
    }
    next += chunk_step;
  }
};

}  // namespace weft::kernels::cuda

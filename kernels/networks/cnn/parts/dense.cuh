// SPDX-License-Identifier: MIT
// The linear layers for the few images of a block. A matrix is multiplied by one or two vectors, so
// every weight is used once or twice, and what counts is how fast weights arrive.
//
//   fc1  lies in shared memory, copied there while the convolutions ran. Forward a warp takes
//        rows, its lanes the columns, 16 bytes each. Backward lanes are 4 rows x 8 quads of
//        columns: reads without bank conflicts, and sums that only 4 lanes share.
//   fc2  lies in registers of the block, loaded long before it is needed: RegisterMatrix.
//   fc3  is read through the caches.
#pragma once

#include "engine/extent.h"
#include "kernels/device/fold.cuh"
#include "kernels/device/vector.cuh"
#include "kernels/networks/cnn/parts/network.h"
#include "kernels/networks/cnn/parts/thread.cuh"

namespace weft::kernels::fused_cnn {

using device::Float4;

__device__ __forceinline__ float dot(const Float4& a, const Float4& b, float sum) {
#pragma unroll
  for (int i = 0; i < 4; ++i) sum += a.lane[i] * b.lane[i];
  return sum;
}

__device__ __forceinline__ Float4 quad_at(const float* from) {
  return *reinterpret_cast<const Float4*>(from);
}

__device__ __forceinline__ float relu(float value) {
  return value < 0.0f ? 0.0f : value;  // lets NaN pass
}

// write(image, row, x[image] . weight[row]) for x (kImages, kIn), weight (kRows, kIn) in shared
// memory; each sum once. All threads call it.
template <int kIn, int kRows, int kImages, class Write>
__device__ __forceinline__ void multiply_rows(const float* x, const float* weight,
                                              const Write& write) {
  constexpr int kQuads = kIn / 4, kChunks = divide_up(kQuads, 32);
  constexpr int kPerWarp = divide_up(kRows, kWarps);
  const int lane = lane_id();
  const int first = warp_id() * kPerWarp;
  Float4 values[kImages][kChunks];
#pragma unroll
  for (int image = 0; image < kImages; ++image) {
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const int quad = lane + 32 * chunk;
      values[image][chunk] = quad < kQuads ? quad_at(x + image * kIn + 4 * quad) : Float4{};
    }
  }
  float sum[kPerWarp * kImages] = {};
#pragma unroll
  for (int j = 0; j < kPerWarp; ++j) {
    if (first + j >= kRows) continue;
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const int quad = lane + 32 * chunk;
      if (quad >= kQuads) continue;
      const Float4 w = quad_at(weight + (first + j) * kIn + 4 * quad);
#pragma unroll
      for (int image = 0; image < kImages; ++image) {
        sum[j * kImages + image] = dot(w, values[image][chunk], sum[j * kImages + image]);
      }
    }
  }
  const device::Folded folded = device::fold<16, 1>(sum);
  constexpr int kKept = device::folded_count<16, 1, kPerWarp * kImages>();
#pragma unroll
  for (int i = 0; i < kKept; ++i) {
    const int at = folded.first + i, row = first + at / kImages;
    if (folded.owner && row < kRows) write(at % kImages, row, sum[i]);
  }
}

// write(image, column, sum over the rows of dy[image][row] weight[row][column]) for dy (kImages,
// kRows), weight (kRows, kIn) in shared memory; each sum once. All threads call it.
template <int kIn, int kRows, int kImages, class Write>
__device__ __forceinline__ void multiply_columns(const float* dy, const float* weight,
                                                 const Write& write) {
  static_assert(kRows % 4 == 0, "rows go in fours");
  constexpr int kQuads = kIn / 4;
  const int lane = lane_id();
  for (int group = warp_id(); group < divide_up(kQuads, 8); group += kWarps) {
    const int quad = group * 8 + lane % 8;
    const int column = 4 * (quad < kQuads ? quad : kQuads - 1);
    float sum[kImages * 4] = {};
#pragma unroll 6
    for (int row = lane / 8; row < kRows; row += 4) {
      const Float4 w = quad_at(weight + row * kIn + column);
#pragma unroll
      for (int image = 0; image < kImages; ++image) {
        const float gradient = dy[image * kRows + row];
#pragma unroll
        for (int k = 0; k < 4; ++k) sum[image * 4 + k] += gradient * w.lane[k];
      }
    }
    const device::Folded folded = device::fold<16, 8>(sum);
#pragma unroll
    for (int i = 0; i < device::folded_count<16, 8, kImages * 4>(); ++i) {
      const int at = folded.first + i;
      if (quad < kQuads) write(at / 4, 4 * quad + at % 4, sum[i]);
    }
  }
}

// A matrix (kRows, kIn) spread over the registers of a block:
//
//   warp (row_warp, column_warp), lane (row % 4, quad % 8): for each turn one quad of columns
//
// so that products by rows need sums over 8 lanes and kColumnWarps warps, and products by columns
// sums over 4 lanes and kRowWarps warps. Sums over warps are left to the caller, as partial sums.
template <int kIn, int kRows, int kImages>
class RegisterMatrix : public RegisterMatrixShape<kIn, kRows, kImages> {
  using M = RegisterMatrixShape<kIn, kRows, kImages>;
  using M::kColumnWarps, M::kQuads, M::kRowsPerWarp, M::kTurns;

 public:
  __device__ __forceinline__ void load(const float* weight) {
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      quads_[turn] = there(turn) ? quad_at(weight + row(turn) * kIn + 4 * quad()) : Float4{};
    }
  }

  // x (kImages, kIn)
  __device__ __forceinline__ void multiply_rows(float* partial, const float* x) const {
    float sum[kTurns * kImages] = {};
    const int column = 4 * (quad() < kQuads ? quad() : 0);
#pragma unroll
    for (int image = 0; image < kImages; ++image) {
      const Float4 values = quad_at(x + image * kIn + column);
#pragma unroll
      for (int turn = 0; turn < kTurns; ++turn) {
        sum[turn * kImages + image] = dot(quads_[turn], values, 0.0f);
      }
    }
    const device::Folded folded = device::fold<4, 1>(sum);
#pragma unroll
    for (int i = 0; i < device::folded_count<4, 1, kTurns * kImages>(); ++i) {
      const int at = folded.first + i, turn = at / kImages, image = at % kImages;
      if (folded.owner && row_there(turn)) {
        partial[(column_warp() * kImages + image) * kRows + row(turn)] = sum[i];
      }
    }
  }

  // dy (kImages, kRows)
  __device__ __forceinline__ void multiply_columns(float* partial, const float* dy) const {
    float sum[kImages * 4] = {};
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
#pragma unroll
      for (int image = 0; image < kImages; ++image) {
        const float gradient = row_there(turn) ? dy[image * kRows + row(turn)] : 0.0f;
#pragma unroll
        for (int k = 0; k < 4; ++k) sum[image * 4 + k] += gradient * quads_[turn].lane[k];
      }
    }
    const device::Folded folded = device::fold<16, 8>(sum);
#pragma unroll
    for (int i = 0; i < device::folded_count<16, 8, kImages * 4>(); ++i) {
      const int at = folded.first + i;
      if (quad() < kQuads) {
        partial[(row_warp() * kImages + at / 4) * kIn + 4 * quad() + at % 4] = sum[i];
      }
    }
  }

 private:
  static __device__ __forceinline__ int lane() {
    return lane_id();
  }
  static __device__ __forceinline__ int column_warp() {
    return warp_id() % kColumnWarps;
  }
  static __device__ __forceinline__ int row_warp() {
    return warp_id() / kColumnWarps;
  }
  static __device__ __forceinline__ int quad() {
    return column_warp() * 8 + lane() % 8;
  }
  static __device__ __forceinline__ int row(int turn) {
    return row_warp() * kRowsPerWarp + 4 * turn + lane() / 8;
  }
  static __device__ __forceinline__ bool row_there(int turn) {
    return 4 * turn + lane() / 8 < kRowsPerWarp && row(turn) < kRows;
  }
  static __device__ __forceinline__ bool there(int turn) {
    return row_there(turn) && quad() < kQuads;
  }

  Float4 quads_[kTurns];
};

}  // namespace weft::kernels::fused_cnn

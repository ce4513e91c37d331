// SPDX-License-Identifier: MIT
// The sums of a warp of implicit_gemm_tensor_core: kM x kN fragments of 16 x 8 results.
//
// In fp32 operands come as they are and are split in two parts of tf32; a product is three of them
// (gemm/tensor_core/float_math.cuh tells the error). Tensor cores truncate where fp32 rounds, so
// they add up a few steps along k, and fp32 additions add these parts, for twice the registers.
#pragma once

#include "kernels/common.h"
#include "kernels/device/fragment_tiles.cuh"

namespace weft::kernels::cuda {

// Chunks of two steps along k after which a part ends: 24 products of tf32.
constexpr int kChunksOfPart = 4;

template <ComputeMode kMode, int kM, int kN>
class FragmentSums {
 public:
  // Adds the products of two quads along k. b[j]: columns 16 j to 16 j + 7 in words 0 and 1, the
  // eight columns after them in words 2 and 3.
  __device__ __forceinline__ void multiply(const std::uint32_t (&a)[kM][4],
                                           const std::uint32_t (&b)[kN / 2][4]) {
    if constexpr (kMode == ComputeMode::fp32) {
      std::uint32_t big[kM][4], small[kM][4];
#pragma unroll
      for (int i = 0; i < kM; ++i) split(big[i], small[i], a[i]);
#pragma unroll
      for (int j = 0; j < kN / 2; ++j) {
        std::uint32_t b_big[4], b_small[4];
        split(b_big, b_small, b[j]);
        multiply_columns(j, big, b_small);
        multiply_columns(j, small, b_big);
        multiply_columns(j, big, b_big);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kM; ++i) {
#pragma unroll
        for (int j = 0; j < kN; ++j) {
          device::mma_quads<kMode == ComputeMode::bf16>(sum_[i][j], a[i], b[j / 2][j % 2 * 2],
                                                        b[j / 2][j % 2 * 2 + 1]);
        }
      }
    }
  }

  // To be called every few steps, and before the sums are read.
  __device__ __forceinline__ void end_part() {
    if constexpr (kMode == ComputeMode::fp32) {
#pragma unroll
      for (int i = 0; i < 4 * kM * kN; ++i) {
        total_[i / 4 / kN][i / 4 % kN][i % 4] += sum_[i / 4 / kN][i / 4 % kN][i % 4];
        sum_[i / 4 / kN][i / 4 % kN][i % 4] = 0;
      }
    }
  }

  // Word of the d of mma.cuh.
  __device__ __forceinline__ float at(int i, int j, int word) const {
    if constexpr (kMode == ComputeMode::fp32) {
      return total_[i][j][word];
    } else {
      return sum_[i][j][word];
    }
  }

 private:
  __device__ __forceinline__ static void split(std::uint32_t (&big)[4], std::uint32_t (&small)[4],
                                               const std::uint32_t (&words)[4]) {
#pragma unroll
    for (int w = 0; w < 4; ++w) device::split_tf32(big[w], small[w], words[w]);
  }
  __device__ __forceinline__ void multiply_columns(int j, const std::uint32_t (&a)[kM][4],
                                                   const std::uint32_t (&b)[4]) {
#pragma unroll
    for (int i = 0; i < kM; ++i) {
      device::mma_quads<false>(sum_[i][2 * j], a[i], b[0], b[1]);
      device::mma_quads<false>(sum_[i][2 * j + 1], a[i], b[2], b[3]);
    }
  }

  static constexpr bool kTotals = kMode == ComputeMode::fp32;
  float sum_[kM][kN][4] = {};
  float total_[kTotals ? kM : 1][kTotals ? kN : 1][4] = {};
};

}  // namespace weft::kernels::cuda

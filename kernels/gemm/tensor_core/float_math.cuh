// SPDX-License-Identifier: MIT
// Products of fragments of floats by mma.sync: rounded to tf32, or to bfloat16 in half the time, or
// as accurate as fp32 in three times the time.
#pragma once

#include "kernels/gemm/tensor_core/mma_operand.cuh"

namespace weft::kernels::cuda {

struct Tf32 {
  using Element = float;
  template <int kX, bool kAlongK, bool kLeft>
  using Fragments = FloatFragments<kX, kAlongK, kLeft>;

  // In place costs one instruction on sm_90, but the words of an operand that does not run along k
  // have to change places as well, which the other form does on the way.
  template <bool kAlongK, bool kLeft, int kCount>
  __device__ __forceinline__ static void prepare(std::uint32_t (&words)[kCount][4]) {
#pragma unroll
    for (int f = 0; f < kCount; ++f) {
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        words[f][w] = kAlongK ? device::tf32_operand(words[f][w])
                              : device::tf32_operand_by_addition(words[f][w]);
      }
    }
  }

  template <int kPart, int kM, int kN>
  __device__ __forceinline__ static void multiply(float (&sums)[kM][kN][2][4],
                                                  const std::uint32_t (&a)[kM][4],
                                                  const std::uint32_t (&b)[kN][4]) {
#pragma unroll
    for (int i = kPart * kM / 2; i < (kPart + 1) * kM / 2; ++i) {
#pragma unroll
      for (int j = 0; j < kN; ++j) {
        device::mma_m16n8k8_tf32(sums[i][j][0], a[i], {b[j][0], b[j][1]});
        device::mma_m16n8k8_tf32(sums[i][j][1], a[i], {b[j][2], b[j][3]});
      }
    }
  }
};

// Operands of fp32 rounded to bfloat16. A pair holds the words of k low and high. Any order of k is
// right as long as both operands have it.
struct RoundedBfloat16 {
  using Element = float;
  template <int kX, bool kAlongK, bool kLeft>
  using Fragments = FloatFragments<kX, kAlongK, kLeft>;

  // The pair of half h along x goes to word h.
  template <bool kAlongK, bool kLeft, int kCount>
  __device__ __forceinline__ static void prepare(std::uint32_t (&words)[kCount][4]) {
#pragma unroll
    for (int f = 0; f < kCount; ++f) {
      const auto pair = [&](int h) {
        return device::to_bf16_pair(__uint_as_float(words[f][fragment_word<kLeft>(h, 0)]),
                                    __uint_as_float(words[f][fragment_word<kLeft>(h, 1)]));
      };
      const std::uint32_t low = pair(0), high = pair(1);
      words[f][0] = low;
      words[f][1] = high;
    }
  }

  template <int kPart, int kM, int kN>
  __device__ __forceinline__ static void multiply(float (&sums)[kM][kN][2][4],
                                                  const std::uint32_t (&a)[kM][4],
                                                  const std::uint32_t (&b)[kN][4]) {
#pragma unroll
    for (int i = kPart * kM / 2; i < (kPart + 1) * kM / 2; ++i) {
#pragma unroll
      for (int j = 0; j < kN; ++j) {
        device::mma_m16n8k8_bf16(sums[i][j][0], {a[i][0], a[i][1]}, b[j][0]);
        device::mma_m16n8k8_bf16(sums[i][j][1], {a[i][0], a[i][1]}, b[j][1]);
      }
    }
  }
};

// fp32 accuracy from products that know 10 mantissa bits:
//
//   x = big + small + rest     big = tf32(x), small = tf32(x - big), |rest| <= 2^-23 |x|
//   a b = big_a big_b + big_a small_b + small_a big_b     what is left out: 2^-21 |a b| at most
//
// x - big has 12 bits; the tensor core ignores the last, so only big is rounded.
struct Tf32x3 {
  using Element = float;
  template <int kX, bool kAlongK, bool kLeft>
  using Fragments = FloatFragments<kX, kAlongK, kLeft>;

  // Splitting takes twice the registers of a fragment, so it waits for multiply().
  template <bool kAlongK, bool kLeft, int kCount>
  __device__ __forceinline__ static void prepare(std::uint32_t (&)[kCount][4]) {}

  __device__ __forceinline__ static void split(std::uint32_t (&big)[4], std::uint32_t (&small)[4],
                                               const std::uint32_t (&from)[4]) {
#pragma unroll
    for (int w = 0; w < 4; ++w) device::split_tf32(big[w], small[w], from[w]);
  }

  template <int kN>
  __device__ __forceinline__ static void multiply_row(float (&sums)[kN][2][4],
                                                      const std::uint32_t (&a)[4],
                                                      const std::uint32_t (&b)[kN][4]) {
#pragma unroll
    for (int j = 0; j < kN; ++j) {
      device::mma_m16n8k8_tf32(sums[j][0], a, {b[j][0], b[j][1]});
      device::mma_m16n8k8_tf32(sums[j][1], a, {b[j][2], b[j][3]});
    }
  }

  template <int kPart, int kM, int kN>
  __device__ __forceinline__ static void multiply(float (&sums)[kM][kN][2][4],
                                                  const std::uint32_t (&a)[kM][4],
                                                  const std::uint32_t (&b)[kN][4]) {
    std::uint32_t a_big[kM][4], a_small[kM][4], b_big[kN][4], b_small[kN][4];
#pragma unroll
    for (int j = 0; j < kN; ++j) split(b_big[j], b_small[j], b[j]);
    constexpr int kBegin = kPart * kM / 2, kEnd = (kPart + 1) * kM / 2;
#pragma unroll
    for (int i = kBegin; i < kEnd; ++i) split(a_big[i], a_small[i], a[i]);
#pragma unroll
    for (int i = kBegin; i < kEnd; ++i) multiply_row(sums[i], a_big[i], b_small);
#pragma unroll
    for (int i = kBegin; i < kEnd; ++i) multiply_row(sums[i], a_small[i], b_big);
#pragma unroll
    for (int i = kBegin; i < kEnd; ++i) multiply_row(sums[i], a_big[i], b_big);
  }
};

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// One vector of floats, as wide as the instruction set that this file is compiled for.
//
// Included by kernels/*/cpu.cpp only, and everything is inside WEFT_ISA: see kernels/isa.h. The
// type is the compiler's vector extension, so + - * and comparisons work on it.
#pragma once

#include <cstdint>
#include <utility>

#include "kernels/isa.h"
#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(float));

typedef float FloatVector __attribute__((vector_size(kVectorBytes)));

namespace simd {

typedef float AnyAddress __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));

inline FloatVector load(const float* p) {
  return *reinterpret_cast<const AnyAddress*>(p);
}
inline void store(float* p, FloatVector v) {
  *reinterpret_cast<AnyAddress*>(p) = v;
}
inline FloatVector broadcast(float value) {
  return FloatVector{} + value;
}

// The first n lanes, 0 <= n <= kLanes: memory past them is not touched, lanes past them are 0.
inline FloatVector load_first(const float* p, std::int64_t n) {
#if defined(__AVX512F__)
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1u), p);
#else
  FloatVector v{};
  for (int lane = 0; lane < kLanes; ++lane) {
    if (lane < n) v[lane] = p[lane];
  }
  return v;
#endif
}

inline void store_first(float* p, FloatVector v, std::int64_t n) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1u), v);
#elif defined(__AVX2__)
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  _mm256_maskstore_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lane), v);
#else
  for (int lane = 0; lane < kLanes; ++lane) {
    if (lane < n) p[lane] = v[lane];
  }
#endif
}

// max(v, 0) that lets NaN pass.
inline FloatVector relu(FloatVector v) {
  return v < 0.0f ? FloatVector{} : v;
}

namespace detail {

// Exchanges the off-diagonal blocks of side kStep of the pair (a, b).
template <int kStep, int... kLane>
inline void exchange(FloatVector& a, FloatVector& b, std::integer_sequence<int, kLane...>) {
  const FloatVector low =
      __builtin_shufflevector(a, b, ((kLane & kStep) == 0 ? kLane : kLanes + kLane - kStep)...);
  b = __builtin_shufflevector(a, b, ((kLane & kStep) == 0 ? kLane + kStep : kLanes + kLane)...);
  a = low;
}

template <int kStep>
inline void transpose_blocks(FloatVector (&rows)[kLanes]) {
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    if ((i & kStep) == 0) {
      exchange<kStep>(rows[i], rows[i + kStep], std::make_integer_sequence<int, kLanes>{});
    }
  }
  if constexpr (kStep > 1) transpose_blocks<kStep / 2>(rows);
}

}  // namespace detail

// A square of kLanes x kLanes floats, transposed in registers.
inline void transpose(FloatVector (&rows)[kLanes]) {
  detail::transpose_blocks<kLanes / 2>(rows);
}

}  // namespace simd

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

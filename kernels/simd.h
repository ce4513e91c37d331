// SPDX-License-Identifier: MIT
// One vector of floats, as wide as the instruction set that this file is compiled for.
//
// Included by kernels/*/cpu/instances.cpp only, and everything is inside WEFT_ISA: see
// kernels/isa.h. The type is the compiler's vector extension, so + - * and comparisons work on it.
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

typedef std::int32_t IndexVector __attribute__((vector_size(kVectorBytes)));

namespace simd {

typedef float AnyAddress __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));

inline FloatVector load(const float* p) {
  return *reinterpret_cast<const AnyAddress*>(p);
}
inline void store(float* p, FloatVector v) {
  *reinterpret_cast<AnyAddress*>(p) = v;
}
inline FloatVector broadcast(float value) {
#if defined(__AVX512F__)
  return _mm512_set1_ps(value);
#elif defined(__AVX__)
  return _mm256_set1_ps(value);
#else
  return FloatVector{value, value, value, value};
#endif
}

// a * b + c. Where the instruction set can round that once, it always is: a compiler that is left
// the choice rounds twice in some loops, and then bits depend on the shape of a tile.
inline FloatVector multiply_add(FloatVector a, FloatVector b, FloatVector c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}
inline FloatVector multiply_add(float a, FloatVector b, FloatVector c) {
  return multiply_add(broadcast(a), b, c);
}

// The first n lanes, 0 <= n <= kLanes: memory past them is not touched, lanes past them are 0.
inline FloatVector load_first(const float* p, std::int64_t n) {
#if defined(__AVX512F__)
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1u), p);
#elif defined(__AVX2__)
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_maskload_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lane));
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
  // In powers of two: a masked store of AVX2 is microcode on some processors.
  if (n == kLanes) return store(p, v);
  __m128 rest = _mm256_castps256_ps128(v);
  if ((n & 4) != 0) {
    _mm_storeu_ps(p, rest);
    rest = _mm256_extractf128_ps(v, 1);
    p += 4;
  }
  if ((n & 2) != 0) {
    _mm_storel_pi(reinterpret_cast<__m64*>(p), rest);
    rest = _mm_movehl_ps(rest, rest);
    p += 2;
  }
  if ((n & 1) != 0) _mm_store_ss(p, rest);
#else
  for (int lane = 0; lane < kLanes; ++lane) {
    if (lane < n) p[lane] = v[lane];
  }
#endif
}

inline void store_first(std::int32_t* p, IndexVector v, std::int64_t n) {
  store_first(reinterpret_cast<float*>(p), __builtin_bit_cast(FloatVector, v), n);
}

// The low bytes of the first n lanes.
inline void store_bytes_first(std::uint8_t* p, IndexVector v, std::int64_t n) {
#if defined(__AVX512F__)
  const __mmask16 first = static_cast<__mmask16>((1u << n) - 1u);
  _mm512_mask_cvtepi32_storeu_epi8(p, first, __builtin_bit_cast(__m512i, v));
#elif defined(__AVX2__)
  const __m256i low_bytes = _mm256_set1_epi32(0x0C080400);  // of each half, side by side
  const __m256i halves = _mm256_shuffle_epi8(__builtin_bit_cast(__m256i, v), low_bytes);
  const std::uint64_t low = static_cast<std::uint32_t>(_mm256_extract_epi32(halves, 0));
  const std::uint64_t high = static_cast<std::uint32_t>(_mm256_extract_epi32(halves, 4));
  std::uint64_t rest = high << 32 | low;
  if (n == kLanes) {
    __builtin_memcpy(p, &rest, 8);
    return;
  }
  if ((n & 4) != 0) {
    __builtin_memcpy(p, &rest, 4);
    rest >>= 32;
    p += 4;
  }
  if ((n & 2) != 0) {
    __builtin_memcpy(p, &rest, 2);
    rest >>= 16;
    p += 2;
  }
  if ((n & 1) != 0) __builtin_memcpy(p, &rest, 1);
#else
  for (int lane = 0; lane < kLanes; ++lane) {
    if (lane < n) p[lane] = static_cast<std::uint8_t>(v[lane]);
  }
#endif
}

inline IndexVector lane_numbers() {
  IndexVector v;
  for (int lane = 0; lane < kLanes; ++lane) v[lane] = lane;
  return v;
}

// Every second float of a and then of b, from the first or from the second on.
template <int kFirst>
inline FloatVector every_second(FloatVector a, FloatVector b) {
  return [&]<int... kLane>(std::integer_sequence<int, kLane...>) {
    return __builtin_shufflevector(a, b, (2 * kLane + kFirst)...);
  }
  (std::make_integer_sequence<int, kLanes>{});
}

// max(v, 0) that lets NaN pass.
inline FloatVector relu(FloatVector v) {
  return v < 0.0f ? FloatVector{} : v;
}

// The largest of the vectors taken so far, lane by lane, and its index: the first of equals, and
// the first NaN, which stays.
struct Maximum {
  FloatVector value;
  IndexVector index;

  Maximum(FloatVector first, int first_index) : value(first), index(IndexVector{} + first_index) {}
  void take(FloatVector next, IndexVector next_index) {
    const IndexVector keeps = (next <= value) | (value != value);
    value = keeps ? value : next;
    index = keeps ? index : next_index;
  }
  void take(FloatVector next, int next_index) { take(next, IndexVector{} + next_index); }
};

namespace detail {

template <int kFirst, int... kLane>
inline FloatVector every_second(FloatVector a, FloatVector b,
                                std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(a, b, (2 * kLane + kFirst)...);
}

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

// 2 kLanes floats taken apart.
struct Pair {
  FloatVector even, odd;
};
inline Pair deinterleave(FloatVector low, FloatVector high) {
  constexpr auto kAll = std::make_integer_sequence<int, kLanes>{};
  return {detail::every_second<0>(low, high, kAll), detail::every_second<1>(low, high, kAll)};
}
inline Pair deinterleave(const float* p) {
  return deinterleave(load(p), load(p + kLanes));
}

// A square of kLanes x kLanes floats, transposed in registers.
inline void transpose(FloatVector (&rows)[kLanes]) {
  detail::transpose_blocks<kLanes / 2>(rows);
}

}  // namespace simd

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

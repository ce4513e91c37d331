// SPDX-License-Identifier: MIT
// CUDA's arithmetic and memory intrinsics. The approximate ones (__expf, __fdividef, rsqrtf) are
// exact here to the rounding of the host's library.
#pragma once

#include <math.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "host_cuda/language/language.h"

namespace weft::host_cuda {
template <class A, class B>
using CommonNumber =
    std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>, std::common_type_t<A, B>>;
}

// The mixed calls of CUDA: the common type of both.
template <class A, class B, class T = weft::host_cuda::CommonNumber<A, B>>
constexpr T min(A a, B b) {
  return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
}
template <class A, class B, class T = weft::host_cuda::CommonNumber<A, B>>
constexpr T max(A a, B b) {
  return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
}

inline float rsqrtf(float x) {
  return 1.0f / sqrtf(x);
}
inline double rsqrt(double x) {
  return 1.0 / sqrt(x);
}
inline float __expf(float x) {
  return expf(x);
}
inline float __logf(float x) {
  return logf(x);
}
inline float __fdividef(float a, float b) {
  return a / b;
}
inline float __fmul_rn(float a, float b) {
  return a * b;
}
inline float __fmaf_rn(float a, float b, float c) {
  return fmaf(a, b, c);
}
inline float __saturatef(float x) {
  return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;  // a NaN becomes 0
}

namespace weft::host_cuda {

// cvt.rna.tf32: rounds to 10 mantissa bits, halves away from zero.
inline unsigned to_tf32(float x) {
  const auto bits = __builtin_bit_cast(unsigned, x);
  if (x != x) return 0x7fffffffu;
  return (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & 0xffffe000u;
}

}  // namespace weft::host_cuda

inline unsigned __float_as_uint(float x) {
  return __builtin_bit_cast(unsigned, x);
}
inline float __uint_as_float(unsigned x) {
  return __builtin_bit_cast(float, x);
}
inline int __float_as_int(float x) {
  return __builtin_bit_cast(int, x);
}
inline float __int_as_float(int x) {
  return __builtin_bit_cast(float, x);
}

inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((std::uint64_t{a} * b) >> 32);
}
inline int __popc(unsigned x) {
  return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x) {
  return __builtin_popcountll(x);
}
inline int __clz(int x) {
  return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x));
}
inline int __ffs(int x) {
  return __builtin_ffs(x);
}
// Byte i of the result is byte (selector >> 4 i & 7) of the eight in (y, x), or its sign, eight
// times, where bit 3 is set.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const std::uint64_t bytes = std::uint64_t{y} << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned pick = selector >> (4 * i) & 15u;
    unsigned byte = static_cast<unsigned>(bytes >> (8 * (pick & 7u))) & 255u;
    if ((pick & 8u) != 0) byte = (byte & 128u) != 0 ? 255u : 0u;
    result |= byte << (8 * i);
  }
  return result;
}

// Shared memory has addresses of 32 bits beside the generic ones.
inline std::size_t __cvta_generic_to_shared(const void* p) {
  return weft::host_cuda::shared_address(p);
}
inline void* __cvta_shared_to_generic(std::size_t address) {
  return weft::host_cuda::generic_address(static_cast<unsigned>(address));
}

// Loads and stores with a hint for the caches.
#define WEFT_LOAD(name)       \
  template <class T>          \
  inline T name(const T* p) { \
    return *p;                \
  }
#define WEFT_STORE(name)                                                \
  template <class T>                                                    \
  inline void name(T* p, const weft::host_cuda::NotDeduced<T>& value) { \
    *p = value;                                                         \
  }
WEFT_LOAD(__ldg)
WEFT_LOAD(__ldcg)
WEFT_LOAD(__ldcs)
WEFT_STORE(__stcg)
WEFT_STORE(__stcs)
#undef WEFT_LOAD
#undef WEFT_STORE

inline long long clock64() {
  return weft::host_cuda::clock();
}

// SPDX-License-Identifier: MIT
// __nv_bfloat16 and pairs of it: storage, conversions and arithmetic, which is made in float and
// rounded once.
#pragma once

#include <cuda_runtime.h>
#include <math.h>

#include "host_cuda/language/macros_hidden.inc"

#include "host_cuda/language/half_bits.h"

struct __nv_bfloat16 {
  std::uint16_t bits;

  __nv_bfloat16() = default;
  __nv_bfloat16(float x) : bits(weft::host_cuda::bfloat16_bits(x)) {}
  __nv_bfloat16(double x) : __nv_bfloat16(weft::host_cuda::rounded_to<__nv_bfloat16>(x, 0)) {}
  __nv_bfloat16(int x) : __nv_bfloat16(static_cast<double>(x)) {}
  __nv_bfloat16(unsigned x) : __nv_bfloat16(static_cast<double>(x)) {}
  __nv_bfloat16(short x) : __nv_bfloat16(static_cast<float>(x)) {}
  __nv_bfloat16(unsigned short x) : __nv_bfloat16(static_cast<float>(x)) {}
  __nv_bfloat16(long long x) : __nv_bfloat16(static_cast<double>(x)) {}
  __nv_bfloat16(unsigned long long x) : __nv_bfloat16(static_cast<double>(x)) {}
  operator float() const { return __builtin_bit_cast(float, std::uint32_t{bits} << 16); }
};
using nv_bfloat16 = __nv_bfloat16;
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};
using nv_bfloat162 = __nv_bfloat162;
struct __nv_bfloat16_raw {
  unsigned short x;
};

#define WEFT_NUMBER __nv_bfloat16
#define WEFT_PAIR __nv_bfloat162
#define WEFT_NAMED(before, behind) before##bfloat16##behind
#include "host_cuda/language/half_arithmetic.inc"
#undef WEFT_NAMED
#undef WEFT_PAIR
#undef WEFT_NUMBER

inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {
  return {x, y};
}
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {
  return {x, y};
}
inline __nv_bfloat162 __float2bfloat162_rn(float x) {
  return {__nv_bfloat16(x), __nv_bfloat16(x)};
}
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__nv_bfloat16(x), __nv_bfloat16(y)};
}
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) {
  return {x, x};
}
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) {
  return v.x;
}
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) {
  return v.y;
}
inline __nv_bfloat162 __low2bfloat162(__nv_bfloat162 v) {
  return {v.x, v.x};
}
inline __nv_bfloat162 __high2bfloat162(__nv_bfloat162 v) {
  return {v.y, v.y};
}
inline __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) {
  return {a.x, b.x};
}
inline __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) {
  return {a.y, b.y};
}
inline float2 __bfloat1622float2(__nv_bfloat162 v) {
  return {v.x, v.y};
}
inline __nv_bfloat162 __float22bfloat162_rn(float2 v) {
  return {__nv_bfloat16(v.x), __nv_bfloat16(v.y)};
}

#include "host_cuda/language/macros_shown.inc"

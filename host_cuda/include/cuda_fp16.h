// SPDX-License-Identifier: MIT
// half and half2: storage, conversions and arithmetic, which is made in float and rounded once.
#pragma once

#include <cuda_runtime.h>
#include <math.h>

#include "host_cuda/language/macros_hidden.inc"

#include "host_cuda/language/half_bits.h"

struct __half {
  std::uint16_t bits;

  __half() = default;
  __half(float x) : bits(weft::host_cuda::half_bits(x)) {}
  __half(double x) : __half(weft::host_cuda::rounded_to<__half>(x, 0)) {}
  __half(int x) : __half(static_cast<float>(x)) {}
  __half(unsigned x) : __half(static_cast<float>(x)) {}
  __half(short x) : __half(static_cast<float>(x)) {}
  __half(unsigned short x) : __half(static_cast<float>(x)) {}
  __half(long long x) : __half(static_cast<float>(x)) {}
  __half(unsigned long long x) : __half(static_cast<float>(x)) {}
  operator float() const { return weft::host_cuda::float_of_half(bits); }
};
using half = __half;
using __nv_half = __half;
struct alignas(4) __half2 {
  __half x, y;
};
using half2 = __half2;
using __nv_half2 = __half2;
struct __half_raw {
  unsigned short x;
};

#define WEFT_NUMBER __half
#define WEFT_PAIR __half2
#define WEFT_NAMED(before, behind) before##half##behind
#include "host_cuda/language/half_arithmetic.inc"
#undef WEFT_NAMED
#undef WEFT_PAIR
#undef WEFT_NUMBER

inline __half2 make_half2(__half x, __half y) {
  return {x, y};
}
inline __half2 __halves2half2(__half x, __half y) {
  return {x, y};
}
inline __half2 __float2half2_rn(float x) {
  return {__half(x), __half(x)};
}
inline __half2 __floats2half2_rn(float x, float y) {
  return {__half(x), __half(y)};
}
inline __half2 __half2half2(__half x) {
  return {x, x};
}
inline __half __low2half(__half2 v) {
  return v.x;
}
inline __half __high2half(__half2 v) {
  return v.y;
}
inline __half2 __low2half2(__half2 v) {
  return {v.x, v.x};
}
inline __half2 __high2half2(__half2 v) {
  return {v.y, v.y};
}
inline __half2 __lows2half2(__half2 a, __half2 b) {
  return {a.x, b.x};
}
inline __half2 __highs2half2(__half2 a, __half2 b) {
  return {a.y, b.y};
}
inline float2 __half22float2(__half2 v) {
  return {v.x, v.y};
}
inline __half2 __float22half2_rn(float2 v) {
  return {__half(v.x), __half(v.y)};
}

#include "host_cuda/language/macros_shown.inc"

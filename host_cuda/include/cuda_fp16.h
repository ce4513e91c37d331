// SPDX-License-Identifier: MIT
// half and half2: storage, conversions and arithmetic, which is made in float and rounded once.
#pragma once

#include <cuda_runtime.h>
#include <math.h>

#include "host_cuda/language/half_bits.h"

struct __half {
  std::uint16_t bits;

  __half() = default;
  __half(float x) : bits(weft::host_cuda::half_bits(x)) {}
  __half(double x) : __half(static_cast<float>(x)) {}
  __half(int x) : __half(static_cast<float>(x)) {}
  operator float() const { return weft::host_cuda::float_of_half(bits); }
  __half& operator+=(__half o) { return *this = __half(float(*this) + float(o)); }
  __half& operator-=(__half o) { return *this = __half(float(*this) - float(o)); }
  __half& operator*=(__half o) { return *this = __half(float(*this) * float(o)); }
  __half& operator/=(__half o) { return *this = __half(float(*this) / float(o)); }
};
using half = __half;
struct alignas(4) __half2 {
  __half x, y;
};
using half2 = __half2;

inline __half __float2half(float x) {
  return __half(x);
}
inline __half __float2half_rn(float x) {
  return __half(x);
}
inline float __half2float(__half x) {
  return x;
}
inline unsigned short __half_as_ushort(__half x) {
  return x.bits;
}
inline __half __ushort_as_half(unsigned short bits) {
  __half x;
  x.bits = bits;
  return x;
}
inline __half __int2half_rn(int x) {
  return __half(x);
}
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
inline float __low2float(__half2 v) {
  return v.x;
}
inline float __high2float(__half2 v) {
  return v.y;
}

// The operators round each result; a half and another number are what C++ makes of a float.
#define WEFT_HALF(operation, name)                          \
  inline __half operator operation(__half a, __half b) {    \
    return __half(float(a) operation float(b));             \
  }                                                         \
  inline __half name(__half a, __half b) {                  \
    return a operation b;                                   \
  }                                                         \
  inline __half2 operator operation(__half2 a, __half2 b) { \
    return {a.x operation b.x, a.y operation b.y};          \
  }                                                         \
  inline __half2 name##2(__half2 a, __half2 b) {            \
    return a operation b;                                   \
  }
WEFT_HALF(+, __hadd)
WEFT_HALF(-, __hsub)
WEFT_HALF(*, __hmul)
WEFT_HALF(/, __hdiv)
#undef WEFT_HALF
inline __half __hneg(__half x) {
  return __half(-float(x));
}
inline __half __habs(__half x) {
  return __half(fabsf(x));
}
inline __half hsqrt(__half x) {
  return __half(sqrtf(x));
}
inline __half hexp(__half x) {
  return __half(expf(x));
}
inline __half hlog(__half x) {
  return __half(logf(x));
}
inline __half hrsqrt(__half x) {
  return __half(1.0f / sqrtf(x));
}
inline bool __heq(__half a, __half b) {
  return float(a) == float(b);
}
inline bool __hne(__half a, __half b) {
  return float(a) != float(b);
}
inline bool __hlt(__half a, __half b) {
  return float(a) < float(b);
}
inline bool __hle(__half a, __half b) {
  return float(a) <= float(b);
}
inline bool __hgt(__half a, __half b) {
  return float(a) > float(b);
}
inline bool __hge(__half a, __half b) {
  return float(a) >= float(b);
}
inline __half __hmax(__half a, __half b) {
  return __half(fmaxf(a, b));
}
inline __half __hmin(__half a, __half b) {
  return __half(fminf(a, b));
}
inline __half __hfma(__half a, __half b, __half c) {
  return __half(fmaf(a, b, c));
}
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
inline float2 __half22float2(__half2 v) {
  return {v.x, v.y};
}
inline __half2 __float22half2_rn(float2 v) {
  return {__half(v.x), __half(v.y)};
}

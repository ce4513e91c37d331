// SPDX-License-Identifier: MIT
// CUDA's mathematical and integer functions beyond those that Weft's own kernels call
// (language/intrinsics.h). The approximate ones are exact here to the rounding of the host's
// library.
#pragma once

#include <math.h>
#include <stdlib.h>

#include "host_cuda/language/intrinsics.h"

inline float __sinf(float x) {
  return sinf(x);
}
inline float __cosf(float x) {
  return cosf(x);
}
inline float __tanf(float x) {
  return tanf(x);
}
inline float __log2f(float x) {
  return log2f(x);
}
inline float __log10f(float x) {
  return log10f(x);
}
inline float __exp10f(float x) {
  return powf(10.0f, x);
}
inline float __powf(float x, float y) {
  return powf(x, y);
}
inline void __sincosf(float x, float* sine, float* cosine) {
  *sine = sinf(x);
  *cosine = cosf(x);
}
inline float rcbrtf(float x) {
  return 1.0f / cbrtf(x);
}
inline float sinpif(float x) {
  return sinf(x * static_cast<float>(M_PI));
}
inline float cospif(float x) {
  return cosf(x * static_cast<float>(M_PI));
}
inline float normcdff(float x) {
  return 0.5f * erfcf(-x * static_cast<float>(M_SQRT1_2));
}
inline float rhypotf(float x, float y) {
  return 1.0f / hypotf(x, y);
}
inline float norm3df(float x, float y, float z) {
  return sqrtf(x * x + y * y + z * z);
}
inline double rcbrt(double x) {
  return 1.0 / cbrt(x);
}
inline double sinpi(double x) {
  return sin(x * static_cast<double>(M_PI));
}
inline double cospi(double x) {
  return cos(x * static_cast<double>(M_PI));
}
inline double normcdf(double x) {
  return 0.5 * erfc(-x * static_cast<double>(M_SQRT1_2));
}
inline double rhypot(double x, double y) {
  return 1.0 / hypot(x, y);
}
inline double norm3d(double x, double y, double z) {
  return sqrt(x * x + y * y + z * z);
}
inline float norm4df(float x, float y, float z, float w) {
  return sqrtf(x * x + y * y + z * z + w * w);
}
inline double norm4d(double x, double y, double z, double w) {
  return sqrt(x * x + y * y + z * z + w * w);
}
inline float rnorm3df(float x, float y, float z) {
  return 1.0f / norm3df(x, y, z);
}
inline double rnorm3d(double x, double y, double z) {
  return 1.0 / norm3d(x, y, z);
}
inline void sincospif(float x, float* sine, float* cosine) {
  *sine = sinpif(x);
  *cosine = cospif(x);
}
inline void sincospi(double x, double* sine, double* cosine) {
  *sine = sinpi(x);
  *cosine = cospi(x);
}
inline double erfcx(double x) {
  return x < 25 ? exp(x * x) * erfc(x) : 1 / (x * sqrt(static_cast<double>(M_PI)));
}
inline float erfcxf(float x) {
  return static_cast<float>(erfcx(static_cast<double>(x)));
}
double erfinv(double x);
double erfcinv(double x);
inline float erfinvf(float x) {
  return static_cast<float>(erfinv(static_cast<double>(x)));
}
inline float erfcinvf(float x) {
  return static_cast<float>(erfcinv(static_cast<double>(x)));
}
inline double normcdfinv(double p) {
  return -static_cast<double>(M_SQRT2) * erfcinv(2 * p);
}
inline float normcdfinvf(float p) {
  return static_cast<float>(normcdfinv(static_cast<double>(p)));
}
inline float fdividef(float a, float b) {
  return a / b;
}
inline float __fadd_rn(float a, float b) {
  return a + b;
}
inline float __fsub_rn(float a, float b) {
  return a - b;
}
inline float __fdiv_rn(float a, float b) {
  return a / b;
}
inline float __fsqrt_rn(float x) {
  return sqrtf(x);
}
inline float __frcp_rn(float x) {
  return 1 / x;
}
inline double __dadd_rn(double a, double b) {
  return a + b;
}
inline double __dsub_rn(double a, double b) {
  return a - b;
}
inline double __dmul_rn(double a, double b) {
  return a * b;
}
inline double __ddiv_rn(double a, double b) {
  return a / b;
}
inline double __dsqrt_rn(double x) {
  return sqrt(x);
}
inline double __drcp_rn(double x) {
  return 1 / x;
}
inline float __frsqrt_rn(float x) {
  return rsqrtf(x);
}
inline double __fma_rn(double a, double b, double c) {
  return fma(a, b, c);
}

// Conversions to integers: rn to nearest, rz towards zero, rd down, ru up.
#define WEFT_CONVERSIONS(from, From, to, To) \
  inline To __##from##2##to##_rn(From x) {   \
    return static_cast<To>(rint(x));         \
  }                                          \
  inline To __##from##2##to##_rz(From x) {   \
    return static_cast<To>(trunc(x));        \
  }                                          \
  inline To __##from##2##to##_rd(From x) {   \
    return static_cast<To>(floor(x));        \
  }                                          \
  inline To __##from##2##to##_ru(From x) {   \
    return static_cast<To>(ceil(x));         \
  }                                          \
  inline From __##to##2##from##_rn(To x) {   \
    return static_cast<From>(x);             \
  }
WEFT_CONVERSIONS(float, float, int, int)
WEFT_CONVERSIONS(float, float, uint, unsigned)
WEFT_CONVERSIONS(float, float, ll, long long)
WEFT_CONVERSIONS(float, float, ull, unsigned long long)
WEFT_CONVERSIONS(double, double, int, int)
WEFT_CONVERSIONS(double, double, uint, unsigned)
WEFT_CONVERSIONS(double, double, ll, long long)
WEFT_CONVERSIONS(double, double, ull, unsigned long long)
#undef WEFT_CONVERSIONS
inline float __double2float_rn(double x) {
  return static_cast<float>(x);
}

inline long long __double_as_longlong(double x) {
  return __builtin_bit_cast(long long, x);
}
inline double __longlong_as_double(long long x) {
  return __builtin_bit_cast(double, x);
}
inline int __double2loint(double x) {
  return static_cast<int>(__builtin_bit_cast(std::uint64_t, x));
}
inline int __double2hiint(double x) {
  return static_cast<int>(__builtin_bit_cast(std::uint64_t, x) >> 32);
}
inline double __hiloint2double(int high, int low) {
  return __builtin_bit_cast(
      double, std::uint64_t{static_cast<unsigned>(high)} << 32 | static_cast<unsigned>(low));
}
inline int __mulhi(int a, int b) {
  return static_cast<int>((std::int64_t{a} * b) >> 32);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>((static_cast<__int128>(a) * b) >> 64);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
inline int __mul24(int a, int b) {
  return ((a << 8) >> 8) * ((b << 8) >> 8);
}
inline unsigned __umul24(unsigned a, unsigned b) {
  return (a & 0xffffffu) * (b & 0xffffffu);
}
inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
inline int __ffsll(long long x) {
  return __builtin_ffsll(x);
}
inline unsigned __brev(unsigned x) {
  unsigned result = 0;
  for (int i = 0; i < 32; ++i) result |= (x >> i & 1u) << (31 - i);
  return result;
}
inline unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}
// Where the bit is that is number `offset` of those that are set, from bit `base` on upwards, or
// downwards where it is negative; 0 asks for bit `base` itself. -1: there is none.
inline unsigned __fns(unsigned mask, unsigned base, int offset) {
  const int step = offset < 0 ? -1 : 1;
  int left = offset < 0 ? -offset : offset;
  if (left == 0) return mask >> base & 1u ? base : ~0u;
  for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step) {
    if ((mask >> at & 1u) != 0 && --left == 0) return static_cast<unsigned>(at);
  }
  return ~0u;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) << (shift & 31u) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (shift & 31u));
}
inline unsigned __sad(int a, int b, unsigned c) {
  return c + static_cast<unsigned>(a < b ? b - a : a - b);
}
inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i) {
    c += static_cast<signed char>(a >> 8 * i) * static_cast<signed char>(b >> 8 * i);
  }
  return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; ++i) c += (a >> 8 * i & 255u) * (b >> 8 * i & 255u);
  return c;
}
inline void __nanosleep(unsigned) {}

template <class T>
inline T __ldca(const T* p) {
  return *p;
}
template <class T>
inline void __stwb(T* p, const weft::host_cuda::NotDeduced<T>& value) {
  *p = value;
}

// SPDX-License-Identifier: MIT
// Arithmetic with a given rounding: rz towards zero, ru up, rd down. (rn, to nearest, is in
// math.h.)
#pragma once

#include <type_traits>

#include "host_cuda/language/language.h"

namespace weft::host_cuda::lab {

enum class Operation { add, subtract, multiply, divide, square_root, fused };
// By the processor's own rounding, `mode` as <cfenv> names it. What an operation does not take is
// 0.
float rounded(Operation operation, int mode, float a, float b = 0, float c = 0);
double rounded(Operation operation, int mode, double a, double b = 0, double c = 0);
float to_float(int mode, double value);
float to_float(int mode, long long value);
float to_float(int mode, unsigned long long value);
double to_double(int mode, long long value);
double to_double(int mode, unsigned long long value);

extern const int kTowardsZero, kUp, kDown;

}  // namespace weft::host_cuda::lab

#define WEFT_ROUNDED_WORDS(suffix, mode)                                                     \
  WEFT_ROUNDED(float, __fadd, __fsub, __fmul, __fdiv, __fsqrt, __frcp, __fmaf, suffix, mode) \
  WEFT_ROUNDED(double, __dadd, __dsub, __dmul, __ddiv, __dsqrt, __drcp, __fma, suffix, mode) \
  WEFT_TO_FLOATING(__double2float, float, to_float, double, suffix, mode)                    \
  WEFT_TO_FLOATING(__int2float, float, to_float, int, suffix, mode)                          \
  WEFT_TO_FLOATING(__uint2float, float, to_float, unsigned, suffix, mode)                    \
  WEFT_TO_FLOATING(__ll2float, float, to_float, long long, suffix, mode)                     \
  WEFT_TO_FLOATING(__ull2float, float, to_float, unsigned long long, suffix, mode)           \
  WEFT_TO_FLOATING(__ll2double, double, to_double, long long, suffix, mode)                  \
  WEFT_TO_FLOATING(__ull2double, double, to_double, unsigned long long, suffix, mode)
#define WEFT_ROUNDED(T, Add, Subtract, Multiply, Divide, Root, Reciprocal, Fused, suffix, mode)  \
  inline T Add##suffix(T a, T b) {                                                               \
    return weft::host_cuda::lab::rounded(weft::host_cuda::lab::Operation::add, mode, a, b);      \
  }                                                                                              \
  inline T Subtract##suffix(T a, T b) {                                                          \
    return weft::host_cuda::lab::rounded(weft::host_cuda::lab::Operation::subtract, mode, a, b); \
  }                                                                                              \
  inline T Multiply##suffix(T a, T b) {                                                          \
    return weft::host_cuda::lab::rounded(weft::host_cuda::lab::Operation::multiply, mode, a, b); \
  }                                                                                              \
  inline T Divide##suffix(T a, T b) {                                                            \
    return weft::host_cuda::lab::rounded(weft::host_cuda::lab::Operation::divide, mode, a, b);   \
  }                                                                                              \
  inline T Root##suffix(T a) {                                                                   \
    return weft::host_cuda::lab::rounded(weft::host_cuda::lab::Operation::square_root, mode, a); \
  }                                                                                              \
  inline T Reciprocal##suffix(T a) {                                                             \
    return Divide##suffix(T(1), a);                                                              \
  }                                                                                              \
  inline T Fused##suffix(T a, T b, T c) {                                                        \
    return weft::host_cuda::lab::rounded(weft::host_cuda::lab::Operation::fused, mode, a, b, c); \
  }
// An int has one more digit in a long long, which a conversion of it rounds alike.
#define WEFT_TO_FLOATING(name, To, convert, From, suffix, mode)                        \
  inline To name##suffix(From value) {                                                 \
    using Wide = std::conditional_t<(sizeof(From) < sizeof(double)), long long, From>; \
    return weft::host_cuda::lab::convert(mode, static_cast<Wide>(value));              \
  }
WEFT_ROUNDED_WORDS(_rz, weft::host_cuda::lab::kTowardsZero)
WEFT_ROUNDED_WORDS(_ru, weft::host_cuda::lab::kUp)
WEFT_ROUNDED_WORDS(_rd, weft::host_cuda::lab::kDown)
#undef WEFT_TO_FLOATING
#undef WEFT_ROUNDED
#undef WEFT_ROUNDED_WORDS

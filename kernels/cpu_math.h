// SPDX-License-Identifier: MIT
// Elementary functions for the CPU kernels that the compiler can vectorise.
//
// The float versions are branch-free polynomials; the double versions, used as the tests' oracle,
// are the C library's. NaN propagates. Included by kernels/*/cpu/templates.h only (see
// kernels/isa.h).
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/isa.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

// Work below this many elements is not worth waking other threads for (about 5 us each time).
constexpr std::int64_t kParallelElements = 1 << 15;

namespace detail {

// x = n ln 2 + r with |r| <= (ln 2) / 2, for -87.4 < x < 88.3.
struct ReducedExponent {
  float r;
  float power;  // 2^n
};

inline ReducedExponent reduce_exponent(float x) {
  // Adding 1.5 * 2^23 rounds to an integer, which is then in the low bits of the sum.
  constexpr float kRound = 12582912.0f;
  constexpr float kLn2High = 0.693359375f;  // 9 bits, so that n * kLn2High is exact
  constexpr float kLn2Low = -2.12194440e-4f;
  const float sum = x * 1.44269504f + kRound;
  const float n = sum - kRound;
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, sum);
  const std::uint32_t kRoundBits = 0x4B400000u;
  const float power = __builtin_bit_cast(float, (bits - kRoundBits + 127u) << 23);
  return {(x - n * kLn2High) - n * kLn2Low, power};
}

// exp(r) - 1 by the Taylor series up to r^7: the remainder is below 6e-9 for |r| <= (ln 2) / 2.
inline float expm1_reduced(float r) {
  float sum = 1.0f / 5040;
  sum = sum * r + 1.0f / 720;
  sum = sum * r + 1.0f / 120;
  sum = sum * r + 1.0f / 24;
  sum = sum * r + 1.0f / 6;
  sum = sum * r + 0.5f;
  return r + r * r * sum;
}

constexpr float kExpLow = -87.3f, kExpHigh = 88.0f;

inline float clamp_exponent(float x) {
  const float low = x < kExpLow ? kExpLow : x;  // a NaN passes both
  return low > kExpHigh ? kExpHigh : low;
}

}  // namespace detail

// Relative error below 3e-7 (2.5 units in the last place); 0 below -87.3, exp(88) above 88.
inline float exp_of(float x) {
  const detail::ReducedExponent reduced = detail::reduce_exponent(detail::clamp_exponent(x));
  const float value = reduced.power + reduced.power * detail::expm1_reduced(reduced.r);
  return x < detail::kExpLow ? 0.0f : value;
}
inline double exp_of(double x) {
  return std::exp(x);
}

template <class T>
inline T sigmoid_of(T x) {
  return T(1) / (T(1) + exp_of(-x));
}

// Relative error below 4e-7 everywhere: expm1 keeps the small arguments accurate.
inline float tanh_of(float x) {
  const float magnitude = x < 0 ? -x : x;
  const detail::ReducedExponent reduced =
      detail::reduce_exponent(detail::clamp_exponent(-2 * magnitude));
  const float power = reduced.power;
  const float t = power * detail::expm1_reduced(reduced.r) + (power - 1);  // expm1(-2 |x|)
  const float value = -t / (t + 2);
  return x < 0 ? -value : value;
}
inline double tanh_of(double x) {
  return std::tanh(x);
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

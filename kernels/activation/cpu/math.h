// SPDX-License-Identifier: MIT
// The elementary functions of the activations on the CPU. As in cpu_math.h, the float versions are
// branch-free, and the double versions are the C library's.
#pragma once

#include <cmath>

#include "kernels/cpu_math.h"
#include "kernels/operators.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

// exp(x) - 1 of x <= 0, with a relative error below 4e-7 also where it is small.
inline float expm1_of(float x) {
  const detail::ReducedExponent reduced = detail::reduce_exponent(detail::clamp_exponent(x));
  return reduced.power * detail::expm1_reduced(reduced.r) + (reduced.power - 1);
}
inline double expm1_of(double x) {
  return std::expm1(x);
}

// Relative error of the formula below 1.2e-7 everywhere (Press et al., "Numerical Recipes in C",
// section 6.2, erfcc); the rounding of its exponent adds up to x^2 units in the last place.
inline float erfc_of(float x) {
  const float z = x < 0 ? -x : x;
  const float t = 1 / (1 + 0.5f * z);
  float sum = 0.17087277f;
  sum = sum * t - 0.82215223f;
  sum = sum * t + 1.48851587f;
  sum = sum * t - 1.13520398f;
  sum = sum * t + 0.27886807f;
  sum = sum * t - 0.18628806f;
  sum = sum * t + 0.09678418f;
  sum = sum * t + 0.37409196f;
  sum = sum * t + 1.00002368f;
  sum = sum * t - 1.26551223f;
  const float value = t * exp_of(sum - z * z);
  return x < 0 ? 2 - value : value;
}
inline double erfc_of(double x) {
  return std::erfc(x);
}

// Math of functions.h.
template <class T>
struct CpuMath {
  using Value = T;
  static WEFT_OPERATOR T exp(T x) { return exp_of(x); }
  static WEFT_OPERATOR T expm1(T x) { return expm1_of(x); }
  static WEFT_OPERATOR T tanh(T x) { return tanh_of(x); }
  static WEFT_OPERATOR T erfc(T x) { return erfc_of(x); }
};

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

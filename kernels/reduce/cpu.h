// SPDX-License-Identifier: MIT
// Reductions on the CPU: threads reduce chunks of a fixed size into doubles, one thread combines
// the chunks in order, so the number of threads does not matter.
#pragma once

#include "kernels/cpu_math.h"
#include "kernels/reduce/cpu_table.h"
#include "kernels/reduce/reduce.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace detail {

// Of two values the smaller, or the one that is NaN.
inline double nan_min(double a, double b) {
  return (a <= b) | (a != a) ? a : b;
}

// Sums of 1024 elements are kept in T, where they vectorise; their total is a double.
template <class T, class Term>
double chunk_sum(const T* x, std::int64_t n, Term term) {
  constexpr std::int64_t kBlock = 1024;
  double total = 0;
  for (std::int64_t first = 0; first < n; first += kBlock) {
    const std::int64_t end = n - first < kBlock ? n : first + kBlock;
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = first; i < end; ++i) sum += term(x[i]);
    total += static_cast<double>(sum);
  }
  return total;
}

// The minimum of sign * x; NaN when any x is NaN.
template <class T>
double chunk_min(const T* x, std::int64_t n, T sign) {
  T min = __builtin_huge_val();
  int nans = 0;
#pragma omp simd reduction(min : min) reduction(| : nans)
  for (std::int64_t i = 0; i < n; ++i) {
    const T value = sign * x[i];
    min = value < min ? value : min;
    nans |= value != value;
  }
  return nans ? __builtin_nan("") : static_cast<double>(min);
}

}  // namespace detail

// `partials` has room for (n + kReduceChunk - 1) / kReduceChunk values.
template <class T>
void reduce(T* result, const T* x, std::int64_t n, Reduction kind, double* partials) {
  const std::int64_t chunks = (n + kReduceChunk - 1) / kReduceChunk;
  // max(x) = -min(-x), so two kinds of reduction remain: sums and minima.
  const T sign = kind == Reduction::max ? T(-1) : T(1);
#pragma omp parallel for schedule(static) if (chunks > 1)
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const std::int64_t first = chunk * kReduceChunk;
    const std::int64_t length = n - first < kReduceChunk ? n - first : kReduceChunk;
    if (kind == Reduction::sum) {
      partials[chunk] = detail::chunk_sum(x + first, length, [](T v) { return v; });
    } else if (kind == Reduction::sum_of_squares) {
      partials[chunk] = detail::chunk_sum(x + first, length, [](T v) { return v * v; });
    } else {
      partials[chunk] = detail::chunk_min(x + first, length, sign);
    }
  }
  const bool adds = kind == Reduction::sum || kind == Reduction::sum_of_squares;
  double total = adds ? 0.0 : __builtin_huge_val();
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    total = adds ? total + partials[chunk] : detail::nan_min(total, partials[chunk]);
  }
  *result = adds ? static_cast<T>(total) : sign * static_cast<T>(total);
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

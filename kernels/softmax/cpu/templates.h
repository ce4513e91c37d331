// SPDX-License-Identifier: MIT
// Softmax and cross-entropy on the CPU: a row stays in the L1 cache for all of its passes.
#pragma once

#include "kernels/cpu_math.h"
#include "kernels/softmax/softmax.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace detail {

// The largest value that is not NaN, -infinity when there is none. A NaN reaches the result
// through the sum of exponentials instead.
template <class T>
T row_max(const T* x, std::int64_t cols) {
  T max = -__builtin_huge_val();
#pragma omp simd reduction(max : max)
  for (std::int64_t c = 0; c < cols; ++c) max = x[c] > max ? x[c] : max;
  return max;
}

// Calls visit(c), which returns a term, for all columns in order; returns the sum of the terms.
// Blocks of columns are summed in T, where they vectorise, and the blocks in double, so that long
// rows keep their precision.
template <class T, class Visit>
T sum_over(std::int64_t cols, Visit visit) {
  constexpr std::int64_t kBlock = 512;
  double total = 0;
  for (std::int64_t first = 0; first < cols; first += kBlock) {
    const std::int64_t end = cols - first < kBlock ? cols : first + kBlock;
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t c = first; c < end; ++c) sum += visit(c);
    total += static_cast<double>(sum);
  }
  return static_cast<T>(total);
}

}  // namespace detail

template <class T>
void softmax_forward(T* y, const T* x, std::int64_t rows, std::int64_t cols) {
#pragma omp parallel for schedule(static) if (rows * cols >= kParallelElements)
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* in = x + r * cols;
    T* out = y + r * cols;
    const T max = detail::row_max(in, cols);
    const T sum = detail::sum_over<T>(cols, [&](std::int64_t c) {
      out[c] = exp_of(in[c] - max);
      return out[c];
    });
    const T inverse = 1 / sum;
#pragma omp simd
    for (std::int64_t c = 0; c < cols; ++c) out[c] *= inverse;
  }
}

template <class T>
void softmax_backward(T* dx, const T* dy, const T* y, std::int64_t rows, std::int64_t cols,
                      GradientMode mode) {
  const bool accumulate = mode == GradientMode::accumulate;
#pragma omp parallel for schedule(static) if (rows * cols >= kParallelElements)
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* gradient = dy + r * cols;
    const T* probability = y + r * cols;
    T* out = dx + r * cols;
    const T dot =
        detail::sum_over<T>(cols, [&](std::int64_t c) { return gradient[c] * probability[c]; });
    if (accumulate) {
#pragma omp simd
      for (std::int64_t c = 0; c < cols; ++c) out[c] += probability[c] * (gradient[c] - dot);
    } else {
#pragma omp simd
      for (std::int64_t c = 0; c < cols; ++c) out[c] = probability[c] * (gradient[c] - dot);
    }
  }
}

template <class T>
void softmax_cross_entropy(T* loss, T* dx, std::int32_t* prediction, const T* x,
                           const std::int32_t* labels, T scale, std::int64_t rows,
                           std::int64_t cols, T smoothing = 0) {
  const T everywhere = scale * smoothing / static_cast<T>(cols);  // of the target, scaled

#pragma omp parallel for schedule(static) if (rows * cols >= kParallelElements)
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* in = x + r * cols;
    const std::int64_t label = labels[r];
    const bool valid = label >= 0 && label < cols;
    const T max = detail::row_max(in, cols);
    if (prediction != nullptr) {
      std::int64_t best = 0;
      while (best < cols && in[best] != max) ++best;  // no column equals max when all are NaN
      prediction[r] = static_cast<std::int32_t>(best < cols ? best : 0);
    }
    if (loss == nullptr && dx == nullptr) continue;
    const T sum = detail::sum_over<T>(cols, [&](std::int64_t c) { return exp_of(in[c] - max); });
    const T nan = static_cast<T>(__builtin_nan(""));
    if (loss != nullptr) loss[r] = valid ? std::log(sum) - (in[label] - max) : nan;
    if (dx != nullptr) {
      T* out = dx + r * cols;
      const T factor = valid ? scale / sum : nan;
#pragma omp simd
      for (std::int64_t c = 0; c < cols; ++c) out[c] = factor * exp_of(in[c] - max) - everywhere;
      if (valid) out[label] -= scale * (1 - smoothing);
    }
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

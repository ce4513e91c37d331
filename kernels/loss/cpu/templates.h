// SPDX-License-Identifier: MIT
// Losses and running totals on the CPU.
#pragma once

#include "kernels/cpu_math.h"
#include "kernels/loss/loss.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

template <class T>
void mean_squared_error(T* loss, T* dy, const T* y, const T* target, T scale, std::int64_t rows,
                        std::int64_t cols) {
  const T mean = T(1) / static_cast<T>(cols);
  const T slope = scale * 2 * mean;
#pragma omp parallel for schedule(static) if (rows * cols >= kParallelElements)
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* actual = y + r * cols;
    const T* wanted = target + r * cols;
    if (loss != nullptr) {
      T sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t c = 0; c < cols; ++c) {
        sum += (actual[c] - wanted[c]) * (actual[c] - wanted[c]);
      }
      loss[r] = sum * mean;
    }
    if (dy != nullptr) {
#pragma omp simd
      for (std::int64_t c = 0; c < cols; ++c) dy[r * cols + c] = slope * (actual[c] - wanted[c]);
    }
  }
}

// A batch is a few hundred rows, so one thread adds them, in double and in order.
template <class T>
void accumulate_totals(MetricTotals* totals, const T* loss, const std::int32_t* prediction,
                       const std::int32_t* labels, std::int64_t rows) {
  double sum = 0;
  std::int64_t hits = 0;
  for (std::int64_t r = 0; r < rows; ++r) sum += static_cast<double>(loss[r]);
  if (prediction != nullptr) {
    for (std::int64_t r = 0; r < rows; ++r) hits += prediction[r] == labels[r] ? 1 : 0;
  }
  totals->loss_sum += sum;
  totals->hits += hits;
  totals->rows += rows;
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

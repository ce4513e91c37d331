// SPDX-License-Identifier: MIT
// Activations and the bias on the CPU: one pass over memory, vectorised.
#pragma once

#include "kernels/activation/activation.h"
#include "kernels/activation/cpu/math.h"
#include "kernels/activation/functions.h"
#include "kernels/cpu_math.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace detail {

template <class T, class Function>
void map(T* y, const T* x, std::int64_t n, Function function) {
#pragma omp parallel for simd schedule(static) if (parallel : n >= kParallelElements)
  for (std::int64_t i = 0; i < n; ++i) y[i] = function(x[i]);
}

template <class T, class Function>
void map_gradient(T* dx, const T* dy, const T* y, std::int64_t n, GradientMode mode,
                  Function function) {
  if (mode == GradientMode::overwrite) {
#pragma omp parallel for simd schedule(static) if (parallel : n >= kParallelElements)
    for (std::int64_t i = 0; i < n; ++i) dx[i] = function(dy[i], y[i]);
  } else {
#pragma omp parallel for simd schedule(static) if (parallel : n >= kParallelElements)
    for (std::int64_t i = 0; i < n; ++i) dx[i] += function(dy[i], y[i]);
  }
}

// The sum of a row. The lanes of a vector are partial sums, so the order is fixed per machine.
template <class T>
T sum_of(const T* x, std::int64_t n) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

}  // namespace detail

template <class T>
void activation_forward(T* y, const T* x, std::int64_t n, const ActivationFunction& function) {
  functions::with_function<CpuMath<T>>(function, [&](auto f) { detail::map(y, x, n, f); });
}

template <class T>
void activation_backward(T* dx, const T* dy, const T* y, std::int64_t n,
                         const ActivationFunction& function, GradientMode mode) {
  functions::with_function<CpuMath<T>>(function, [&](auto f) {
    detail::map_gradient(dx, dy, y, n, mode, [f](T g, T v) { return f.gradient(g, v); });
  });
}

template <class T>
void prelu_forward(T* y, const T* x, const T* slope, std::int64_t outer, std::int64_t channels,
                   std::int64_t inner) {
  const bool parallel = outer * channels * inner >= kParallelElements;
  if (inner == 1) {
#pragma omp parallel for schedule(static) if (parallel)
    for (std::int64_t i = 0; i < outer; ++i) {
#pragma omp simd
      for (std::int64_t c = 0; c < channels; ++c) {
        const T v = x[i * channels + c];
        y[i * channels + c] = v > 0 ? v : slope[c] * v;
      }
    }
    return;
  }
#pragma omp parallel for schedule(static) if (parallel)
  for (std::int64_t row = 0; row < outer * channels; ++row) {
    detail::map(y + row * inner, x + row * inner, inner,
                functions::LeakyRelu<CpuMath<T>>{slope[row % channels]});
  }
}

// A channel is summed by one thread, so the result does not depend on how many there are. dx may be
// dy, whose values are read before they are overwritten.
template <class T>
void prelu_backward(T* dx, T* dslope, const T* dy, const T* x, const T* slope, std::int64_t outer,
                    std::int64_t channels, std::int64_t inner, GradientMode mode) {
  const bool accumulate = mode == GradientMode::accumulate;
#pragma omp parallel for schedule(static) if (outer * channels * inner >= kParallelElements)
  for (std::int64_t c = 0; c < channels; ++c) {
    double total = 0;
    const T factor = slope[c];
    for (std::int64_t i = 0; i < outer; ++i) {
      const std::int64_t first = (i * channels + c) * inner;
      T sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t j = first; j < first + inner; ++j) sum += x[j] > 0 ? T(0) : dy[j] * x[j];
      if (dx != nullptr) {
#pragma omp simd
        for (std::int64_t j = first; j < first + inner; ++j) {
          dx[j] = x[j] > 0 ? dy[j] : factor * dy[j];
        }
      }
      total += static_cast<double>(sum);
    }
    dslope[c] = accumulate ? dslope[c] + static_cast<T>(total) : static_cast<T>(total);
  }
}

template <class T>
void bias_forward(T* y, const T* x, const T* bias, std::int64_t outer, std::int64_t channels,
                  std::int64_t inner) {
  const bool parallel = outer * channels * inner >= kParallelElements;
  if (inner == 1) {
#pragma omp parallel for schedule(static) if (parallel)
    for (std::int64_t i = 0; i < outer; ++i) {
#pragma omp simd
      for (std::int64_t c = 0; c < channels; ++c) {
        y[i * channels + c] = x[i * channels + c] + bias[c];
      }
    }
    return;
  }
#pragma omp parallel for schedule(static) if (parallel)
  for (std::int64_t row = 0; row < outer * channels; ++row) {
    const T offset = bias[row % channels];
#pragma omp simd
    for (std::int64_t j = 0; j < inner; ++j) y[row * inner + j] = x[row * inner + j] + offset;
  }
}

// A channel is summed by one thread, so the result does not depend on how many there are.
template <class T>
void bias_backward(T* db, const T* dy, std::int64_t outer, std::int64_t channels,
                   std::int64_t inner, GradientMode mode) {
  const bool accumulate = mode == GradientMode::accumulate;
  const bool parallel = outer * channels * inner >= kParallelElements;
  if (inner == 1) {
    constexpr std::int64_t kBlock = 64;  // channels summed together, one vector register or more
    constexpr std::int64_t kRows = 128;  // rows summed in T before the total takes them in double
#pragma omp parallel for schedule(static) if (parallel)
    for (std::int64_t first = 0; first < channels; first += kBlock) {
      const std::int64_t width = channels - first < kBlock ? channels - first : kBlock;
      double total[kBlock] = {};
      for (std::int64_t row = 0; row < outer; row += kRows) {
        const std::int64_t end = outer - row < kRows ? outer : row + kRows;
        T sum[kBlock] = {};
        for (std::int64_t i = row; i < end; ++i) {
#pragma omp simd
          for (std::int64_t c = 0; c < width; ++c) sum[c] += dy[i * channels + first + c];
        }
        for (std::int64_t c = 0; c < width; ++c) total[c] += static_cast<double>(sum[c]);
      }
      for (std::int64_t c = 0; c < width; ++c) {
        const T sum = static_cast<T>(total[c]);
        db[first + c] = accumulate ? db[first + c] + sum : sum;
      }
    }
    return;
  }
#pragma omp parallel for schedule(static) if (parallel)
  for (std::int64_t c = 0; c < channels; ++c) {
    double total = 0;
    for (std::int64_t i = 0; i < outer; ++i) {
      total += static_cast<double>(detail::sum_of(dy + (i * channels + c) * inner, inner));
    }
    db[c] = accumulate ? db[c] + static_cast<T>(total) : static_cast<T>(total);
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

// SPDX-License-Identifier: MIT
// Normalisation of each input alone on the CPU. A thread owns the values of a group, or the
// gradients of a channel; sums are in double.
#pragma once

#include <cmath>

#include "kernels/batch_norm/group_norm.h"
#include "kernels/cpu_math.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

inline void group_norm_forward(float* y, float* mean, float* inv_std, const float* x,
                               const float* gamma, const float* beta, float eps,
                               const GroupNormDims& d) {
  const std::int64_t values = d.group_values();
#pragma omp parallel for schedule(static) if (d.n * d.c * d.inner >= kParallelElements)
  for (std::int64_t row = 0; row < d.n * d.groups; ++row) {
    const float* in = x + row * values;
    double sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < values; ++i) sum += static_cast<double>(in[i]);
    const double center = sum / static_cast<double>(values);
#pragma omp simd reduction(+ : squares)
    for (std::int64_t i = 0; i < values; ++i) {
      const double distance = static_cast<double>(in[i]) - center;
      squares += distance * distance;
    }
    const double variance = squares / static_cast<double>(values);
    mean[row] = static_cast<float>(center);
    inv_std[row] = static_cast<float>(1 / std::sqrt(variance + static_cast<double>(eps)));
    const std::int64_t first = row % d.groups * d.group_channels();
    for (std::int64_t c = 0; c < d.group_channels(); ++c) {
      const float factor = gamma[first + c] * inv_std[row], offset = beta[first + c];
      const float middle = mean[row];
#pragma omp simd
      for (std::int64_t i = c * d.inner; i < (c + 1) * d.inner; ++i) {
        y[row * values + i] = factor * (in[i] - middle) + offset;
      }
    }
  }
}

inline void group_norm_input_gradient(float* dx, const float* dy, const float* x,
                                      const float* gamma, const float* mean, const float* inv_std,
                                      const GroupNormDims& d) {
  const std::int64_t values = d.group_values();
#pragma omp parallel for schedule(static) if (d.n * d.c * d.inner >= kParallelElements)
  for (std::int64_t row = 0; row < d.n * d.groups; ++row) {
    const std::int64_t first = row % d.groups * d.group_channels();
    const float center = mean[row], factor = inv_std[row];
    double sum = 0, products = 0;
    for (std::int64_t c = 0; c < d.group_channels(); ++c) {
      const float weight = gamma[first + c];
#pragma omp simd reduction(+ : sum, products)
      for (std::int64_t i = row * values + c * d.inner; i < row * values + (c + 1) * d.inner; ++i) {
        const float g = dy[i] * weight;
        sum += static_cast<double>(g);
        products += static_cast<double>(g * ((x[i] - center) * factor));
      }
    }
    const float mean_g = static_cast<float>(sum / static_cast<double>(values));
    const float mean_p = static_cast<float>(products / static_cast<double>(values));
    for (std::int64_t c = 0; c < d.group_channels(); ++c) {
      const float weight = gamma[first + c];
#pragma omp simd
      for (std::int64_t i = row * values + c * d.inner; i < row * values + (c + 1) * d.inner; ++i) {
        dx[i] = factor * (dy[i] * weight - mean_g - (x[i] - center) * factor * mean_p);
      }
    }
  }
}

inline void group_norm_parameter_gradients(float* dgamma, float* dbeta, const float* dy,
                                           const float* x, const float* mean, const float* inv_std,
                                           const GroupNormDims& d, GradientMode mode) {
  const bool accumulate = mode == GradientMode::accumulate;
#pragma omp parallel for schedule(static) if (d.n * d.c * d.inner >= kParallelElements)
  for (std::int64_t c = 0; c < d.c; ++c) {
    double sum = 0, products = 0;
    for (std::int64_t n = 0; n < d.n; ++n) {
      const std::int64_t row = n * d.groups + c / d.group_channels();
      const float center = mean[row], factor = inv_std[row];
#pragma omp simd reduction(+ : sum, products)
      for (std::int64_t i = (n * d.c + c) * d.inner; i < (n * d.c + c + 1) * d.inner; ++i) {
        sum += static_cast<double>(dy[i]);
        products += static_cast<double>(dy[i] * ((x[i] - center) * factor));
      }
    }
    dgamma[c] = (accumulate ? dgamma[c] : 0.0f) + static_cast<float>(products);
    dbeta[c] = (accumulate ? dbeta[c] : 0.0f) + static_cast<float>(sum);
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

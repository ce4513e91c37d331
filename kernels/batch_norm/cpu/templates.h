// SPDX-License-Identifier: MIT
// Batch normalisation on the CPU: a channel belongs to one thread; blocks of a row are summed in T,
// where they vectorise, and the blocks of a channel in double.
#pragma once

#include "kernels/batch_norm/batch_norm.h"
#include "kernels/cpu_math.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace detail {

// Values that are summed in T: more of them would lose accuracy where the sum does not vectorise.
constexpr std::int64_t kSummed = 256;

// Calls sum(begin, end) for the elements [begin, end) of each block of a channel's rows.
template <class Sum>
void for_each_block(std::int64_t channel, const BatchNormDims& d, const Sum& sum) {
  for (std::int64_t i = 0; i < d.n; ++i) {
    const std::int64_t row = (i * d.c + channel) * d.inner, end = row + d.inner;
    for (std::int64_t j = row; j < end; j += kSummed) sum(j, j + kSummed < end ? j + kSummed : end);
  }
}

// y = (x - mean) * factor + beta over one channel.
template <class T>
void normalize_channel(T* y, const T* x, T mean, T factor, T beta, std::int64_t channel,
                       const BatchNormDims& d) {
  for (std::int64_t i = 0; i < d.n; ++i) {
    const std::int64_t row = (i * d.c + channel) * d.inner;
#pragma omp simd
    for (std::int64_t j = 0; j < d.inner; ++j) y[row + j] = (x[row + j] - mean) * factor + beta;
  }
}

}  // namespace detail

template <class T>
void batch_norm_forward(T* y, T* mean, T* inv_std, T* running_mean, T* running_var, const T* x,
                        const T* gamma, const T* beta, T eps, T momentum, const BatchNormDims& d) {
  const double count = static_cast<double>(d.n * d.inner);
#pragma omp parallel for schedule(static) if (d.n * d.c * d.inner >= kParallelElements)
  for (std::int64_t c = 0; c < d.c; ++c) {
    double total = 0;
    detail::for_each_block(c, d, [&](std::int64_t begin, std::int64_t end) {
      T sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t j = begin; j < end; ++j) sum += x[j];
      total += static_cast<double>(sum);
    });
    const T average = static_cast<T>(total / count);
    // A second pass over centred values: no cancellation, unlike E[x^2] - E[x]^2.
    double squares = 0;
    detail::for_each_block(c, d, [&](std::int64_t begin, std::int64_t end) {
      T sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t j = begin; j < end; ++j) sum += (x[j] - average) * (x[j] - average);
      squares += static_cast<double>(sum);
    });
    const double variance = squares / count;
    const T scale = static_cast<T>(1 / std::sqrt(variance + static_cast<double>(eps)));
    mean[c] = average;
    inv_std[c] = scale;
    const T unbiased = static_cast<T>(squares / (count - 1));
    running_mean[c] = (1 - momentum) * running_mean[c] + momentum * average;
    running_var[c] = (1 - momentum) * running_var[c] + momentum * unbiased;
    detail::normalize_channel(y, x, average, gamma[c] * scale, beta[c], c, d);
  }
}

template <class T>
void batch_norm_inference(T* y, const T* x, const T* running_mean, const T* running_var,
                          const T* gamma, const T* beta, T eps, const BatchNormDims& d) {
#pragma omp parallel for schedule(static) if (d.n * d.c * d.inner >= kParallelElements)
  for (std::int64_t c = 0; c < d.c; ++c) {
    const T factor = gamma[c] / std::sqrt(running_var[c] + eps);
    detail::normalize_channel(y, x, running_mean[c], factor, beta[c], c, d);
  }
}

template <class T>
void batch_norm_backward(T* dx, T* dgamma, T* dbeta, const T* dy, const T* x, const T* gamma,
                         const T* mean, const T* inv_std, const BatchNormDims& d,
                         GradientMode dx_mode, GradientMode parameter_mode, bool mask = false) {
  const double count = static_cast<double>(d.n * d.inner);
  const bool add_dx = dx_mode == GradientMode::accumulate;
  const bool add_parameters = parameter_mode == GradientMode::accumulate;
#pragma omp parallel for schedule(static) if (d.n * d.c * d.inner >= kParallelElements)
  for (std::int64_t c = 0; c < d.c; ++c) {
    const T average = mean[c], scale = inv_std[c];
    double total = 0, total_hat = 0;  // sum of dy, sum of dy xhat
    detail::for_each_block(c, d, [&](std::int64_t begin, std::int64_t end) {
      T sum = 0, sum_hat = 0;
#pragma omp simd reduction(+ : sum, sum_hat)
      for (std::int64_t j = begin; j < end; ++j) {
        sum += dy[j];
        sum_hat += dy[j] * ((x[j] - average) * scale);
      }
      total += static_cast<double>(sum);
      total_hat += static_cast<double>(sum_hat);
    });
    const T sum = static_cast<T>(total), sum_hat = static_cast<T>(total_hat);
    dgamma[c] = add_parameters ? dgamma[c] + sum_hat : sum_hat;
    dbeta[c] = add_parameters ? dbeta[c] + sum : sum;
    const T mean_dy = static_cast<T>(total / count), mean_hat = static_cast<T>(total_hat / count);
    const T factor = gamma[c] * scale;
    for (std::int64_t i = 0; i < d.n; ++i) {
      const std::int64_t row = (i * d.c + c) * d.inner;
#pragma omp simd
      for (std::int64_t j = 0; j < d.inner; ++j) {
        const T hat = (x[row + j] - average) * scale;
        const T gradient = factor * (dy[row + j] - mean_dy - hat * mean_hat);
        const T value = mask && !(x[row + j] > 0) ? T(0) : gradient;
        dx[row + j] = add_dx ? dx[row + j] + value : value;
      }
    }
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

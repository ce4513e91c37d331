// SPDX-License-Identifier: MIT
// Batch normalisation on the CPU: a channel belongs to one thread; blocks of a row are summed in T,
// where they vectorise, and the blocks of a channel in double.
#pragma once

#include "kernels/batch_norm/over_ranks.h"
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

template <class T>
T average_of_channel(const T* x, std::int64_t channel, const BatchNormDims& d) {
  double total = 0;
  for_each_block(channel, d, [&](std::int64_t begin, std::int64_t end) {
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = begin; j < end; ++j) sum += x[j];
    total += static_cast<double>(sum);
  });
  return static_cast<T>(total / static_cast<double>(d.n * d.inner));
}

// The totals are the sums of dy and of dy xhat.
template <class T>
void write_parameter_gradients(T* dgamma, T* dbeta, std::int64_t channel, double total,
                               double total_hat, bool add) {
  const T sum = static_cast<T>(total), sum_hat = static_cast<T>(total_hat);
  dgamma[channel] = add ? dgamma[channel] + sum_hat : sum_hat;
  dbeta[channel] = add ? dbeta[channel] + sum : sum;
}

template <class T>
void input_gradient_of_channel(T* dx, const T* dy, const T* x, T gamma, T average, T scale,
                               T mean_dy, T mean_hat, std::int64_t channel, const BatchNormDims& d,
                               bool add, bool mask) {
  const T factor = gamma * scale;
  for (std::int64_t i = 0; i < d.n; ++i) {
    const std::int64_t row = (i * d.c + channel) * d.inner;
#pragma omp simd
    for (std::int64_t j = 0; j < d.inner; ++j) {
      const T hat = (x[row + j] - average) * scale;
      const T gradient = factor * (dy[row + j] - mean_dy - hat * mean_hat);
      const T value = mask && !(x[row + j] > 0) ? T(0) : gradient;
      dx[row + j] = add ? dx[row + j] + value : value;
    }
  }
}

}  // namespace detail

template <class T>
void batch_norm_forward(T* y, T* mean, T* inv_std, T* running_mean, T* running_var, const T* x,
                        const T* gamma, const T* beta, T eps, T momentum, const BatchNormDims& d) {
  const double count = static_cast<double>(d.n * d.inner);
#pragma omp parallel for schedule(static) if (d.n * d.c * d.inner >= kParallelElements)
  for (std::int64_t c = 0; c < d.c; ++c) {
    const T average = detail::average_of_channel(x, c, d);
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
    detail::write_parameter_gradients(dgamma, dbeta, c, total, total_hat, add_parameters);
    const T mean_dy = static_cast<T>(total / count);
    const T mean_hat = static_cast<T>(total_hat / count);
    detail::input_gradient_of_channel(dx, dy, x, gamma[c], average, scale, mean_dy, mean_hat, c, d,
                                      add_dx, mask);
  }
}

// The CPU version of batch_norm_moments() in over_ranks.h, which describes the parameters. All
// ranks together have `all` values of a channel.
template <class T>
void batch_norm_moments(Moments* moments, T* mean, const T* x, const BatchNormDims& d, double all) {
  const double count = static_cast<double>(d.n * d.inner);
#pragma omp parallel for schedule(static) if (d.n * d.c * d.inner >= kParallelElements)
  for (std::int64_t c = 0; c < d.c; ++c) {
    if (d.n == 0) {
      moments[c] = {0, 0, 0};
      mean[c] = 0;
      continue;
    }
    const T pilot = detail::average_of_channel(x, c, d);
    double total = 0, squares = 0;  // of x - pilot
    detail::for_each_block(c, d, [&](std::int64_t begin, std::int64_t end) {
      T sum = 0, sum_squares = 0;
#pragma omp simd reduction(+ : sum, sum_squares)
      for (std::int64_t j = begin; j < end; ++j) {
        sum += x[j] - pilot;
        sum_squares += (x[j] - pilot) * (x[j] - pilot);
      }
      total += static_cast<double>(sum);
      squares += static_cast<double>(sum_squares);
    });
    const double average = static_cast<double>(pilot) + total / count;
    moments[c] = {count, average, squares - total * total / count};
    mean[c] = static_cast<T>(average * (count / all));
  }
}

// The loop stands in batch_norm_backward() as well: in a function that both call, the compiler sums
// in another order there.
template <class T>
void batch_norm_gradient_sums(T* dgamma, T* dbeta, T* means, const T* dy, const T* x, const T* mean,
                              const T* inv_std, const BatchNormDims& d, double all,
                              GradientMode parameter_mode) {
#pragma omp parallel for schedule(static) if (d.n * d.c * d.inner >= kParallelElements)
  for (std::int64_t c = 0; c < d.c; ++c) {
    const T average = mean[c], scale = inv_std[c];
    double total = 0, total_hat = 0;
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
    detail::write_parameter_gradients(dgamma, dbeta, c, total, total_hat,
                                      parameter_mode == GradientMode::accumulate);
    means[c] = static_cast<T>(total / all);
    means[d.c + c] = static_cast<T>(total_hat / all);
  }
}

template <class T>
void batch_norm_input_gradient(T* dx, const T* dy, const T* x, const T* gamma, const T* mean,
                               const T* inv_std, const T* means, const BatchNormDims& d,
                               GradientMode dx_mode, bool mask) {
#pragma omp parallel for schedule(static) if (d.n * d.c * d.inner >= kParallelElements)
  for (std::int64_t c = 0; c < d.c; ++c) {
    detail::input_gradient_of_channel(dx, dy, x, gamma[c], mean[c], inv_std[c], means[c],
                                      means[d.c + c], c, d, dx_mode == GradientMode::accumulate,
                                      mask);
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

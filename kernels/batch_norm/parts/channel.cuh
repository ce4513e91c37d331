// SPDX-License-Identifier: MIT
// What the kernels of this family write for a channel.
#pragma once

#include "kernels/batch_norm/over_ranks.h"

namespace weft::kernels::device {

// The moments of `count` values x, from the sum of (x - pilot) and the sum of its squares.
__device__ __forceinline__ Moments moments_about(float pilot, double count, double total,
                                                 double total_squares) {
  return {count, static_cast<double>(pilot) + total / count, total_squares - total * total / count};
}

template <class Index>
__device__ __forceinline__ void update_running(float* running_mean, float* running_var, Index c,
                                               float average, float unbiased, float momentum) {
  running_mean[c] = (1.0f - momentum) * running_mean[c] + momentum * average;
  running_var[c] = (1.0f - momentum) * running_var[c] + momentum * unbiased;
}

// The totals are the sums of dy and of dy xhat.
template <class Index>
__device__ __forceinline__ void write_parameter_gradients(float* dgamma, float* dbeta, Index c,
                                                          double total, double total_hat,
                                                          bool add) {
  const float db = static_cast<float>(total), dg = static_cast<float>(total_hat);
  dbeta[c] = add ? dbeta[c] + db : db;
  dgamma[c] = add ? dgamma[c] + dg : dg;
}

// Over ranks: a rank's moments, and its share of the mean of `all` values.
__device__ __forceinline__ void write_moments(Moments* moments, float* mean, std::int64_t c,
                                              const Moments& found, double all) {
  moments[c] = found;
  mean[c] = static_cast<float>(found.mean * (found.count / all));
}

// Over ranks: a rank's shares of the means of dy and dy xhat over `all` values; means is (2, c).
__device__ __forceinline__ void write_gradient_means(float* means, std::int64_t c,
                                                     std::int64_t channels, double total,
                                                     double total_hat, double all) {
  means[c] = static_cast<float>(total / all);
  means[channels + c] = static_cast<float>(total_hat / all);
}

}  // namespace weft::kernels::device

// SPDX-License-Identifier: MIT
// Batch normalisation over a batch that lies in slices on several ranks, with the statistics of all
// of it. Each rank has dims.n of the all_n rows. Between the steps its caller sums over the ranks:
//
//   forward    batch_norm_moments         mean = this rank's share of the mean of all values
//              sum of mean over ranks
//              batch_norm_variance        var = this rank's share of their biased variance
//              sum of var over ranks
//              batch_norm_inference       y, with mean and var (batch_norm.h)
//              batch_norm_finish          inv_std, and the running statistics
//   backward   batch_norm_gradient_sums   dgamma and dbeta of this rank's rows alone, and means =
//                                         this rank's shares of mean dy and mean dy xhat
//              sum of means over ranks
//              batch_norm_input_gradient  dx
//
// A share is a sum over this rank's values, divided by the number of all values of the channel. The
// sum of the shares is the mean. Moments merge as by Chan, Golub and LeVeque 1979:
//
//   m = sum_r n_r m_r / n      var = sum_r (q_r + n_r (m_r - m)^2) / n
//
// so nothing cancels. A rank with dims.n = 0 calls the same steps, and its shares are 0. Every step
// throws Error{usage} unless all_n >= dims.n and all_n * dims.inner > 1. The workspace has
// batch_norm_workspace_bytes().
#pragma once

#include "kernels/batch_norm/batch_norm.h"

namespace weft::kernels {

// The number of values of a channel, their mean, and the sum of the squares of (x - mean).
struct Moments {
  double count, mean, squares;
};

void batch_norm_moments(Moments* moments,  // (c,), of this rank, for batch_norm_variance
                        float* mean,       // (c,)
                        const float* x,    // (n, c, inner)
                        const BatchNormDims& dims, std::int64_t all_n,
                        const BatchNormOptions& options, Workspace workspace, const Stream& stream);
void batch_norm_variance(float* var,                                 // (c,)
                         const Moments* moments, const float* mean,  // (c,) each; mean of all
                         const BatchNormDims& dims, std::int64_t all_n, const Stream& stream);
void batch_norm_finish(float* inv_std,                           // (c,); may be var itself
                       float* running_mean, float* running_var,  // (c,) each, updated
                       const float* mean, const float* var,      // (c,) each, of all
                       float eps, float momentum, const BatchNormDims& dims, std::int64_t all_n,
                       const Stream& stream);
void batch_norm_gradient_sums(float* dgamma, float* dbeta,              // (c,) each
                              float* means,                             // (2, c)
                              const float* dy, const float* x,          // (n, c, inner) each
                              const float* mean, const float* inv_std,  // (c,) each, of all
                              const BatchNormDims& dims, std::int64_t all_n,
                              GradientMode parameter_mode, const BatchNormOptions& options,
                              Workspace workspace, const Stream& stream);
void batch_norm_input_gradient(float* dx,                                 // (n, c, inner)
                               const float* dy, const float* x,           // (n, c, inner) each
                               const float* gamma, const float* mean,     // (c,) each
                               const float* inv_std, const float* means,  // (c,), (2, c)
                               const BatchNormDims& dims, GradientMode dx_mode, bool relu_mask,
                               const Stream& stream);

}  // namespace weft::kernels

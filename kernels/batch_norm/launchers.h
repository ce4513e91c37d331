// SPDX-License-Identifier: MIT
// The launchers of a rung, which its file in rungs/ defines; same parameters as the contracts in
// batch_norm.h and over_ranks.h, whose `all` is the number of a channel's values on all ranks.
#pragma once

#include "kernels/batch_norm/over_ranks.h"

namespace weft::kernels::cuda {

using BatchNormForward = void(float* y, float* mean, float* inv_std, float* running_mean,
                              float* running_var, const float* x, const float* gamma,
                              const float* beta, float eps, float momentum,
                              const BatchNormDims& dims, Workspace workspace, const Stream& stream);
using BatchNormBackward = void(float* dx, float* dgamma, float* dbeta, const float* dy,
                               const float* x, const float* gamma, const float* mean,
                               const float* inv_std, const BatchNormDims& dims,
                               GradientMode dx_mode, GradientMode parameter_mode, bool mask,
                               Workspace workspace, const Stream& stream);
using BatchNormMoments = void(Moments* moments, float* mean, const float* x,
                              const BatchNormDims& dims, double all, Workspace workspace,
                              const Stream& stream);
using BatchNormGradientSums = void(float* dgamma, float* dbeta, float* means, const float* dy,
                                   const float* x, const float* mean, const float* inv_std,
                                   const BatchNormDims& dims, double all,
                                   GradientMode parameter_mode, Workspace workspace,
                                   const Stream& stream);

// Values of a channel that a cluster holds in forward: 8 blocks of 216 KB.
constexpr std::int64_t kClusterValues = 8 * 216 * 1024 / 4;

// These serve all rungs.
void batch_norm_inference(float* y, const float* x, const float* running_mean,
                          const float* running_var, const float* gamma, const float* beta,
                          float eps, const BatchNormDims& dims, const Stream& stream);
void batch_norm_variance(float* var, const Moments* moments, const float* mean,
                         std::int64_t channels, double all, const Stream& stream);
void batch_norm_finish(float* inv_std, float* running_mean, float* running_var, const float* mean,
                       const float* var, float eps, float momentum, std::int64_t channels,
                       double all, const Stream& stream);
void batch_norm_input_gradient(float* dx, const float* dy, const float* x, const float* gamma,
                               const float* mean, const float* inv_std, const float* means,
                               const BatchNormDims& dims, GradientMode dx_mode, bool mask,
                               const Stream& stream);

}  // namespace weft::kernels::cuda

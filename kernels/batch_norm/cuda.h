// SPDX-License-Identifier: MIT
// Launchers of the CUDA rungs; same parameters as the contracts in batch_norm.h.
#pragma once

#include "kernels/batch_norm/batch_norm.h"

namespace weft::kernels::cuda {

void batch_norm_forward_two_pass(float* y, float* mean, float* inv_std, float* running_mean,
                                 float* running_var, const float* x, const float* gamma,
                                 const float* beta, float eps, float momentum,
                                 const BatchNormDims& dims, const Stream& stream);
void batch_norm_inference(float* y, const float* x, const float* running_mean,
                          const float* running_var, const float* gamma, const float* beta,
                          float eps, const BatchNormDims& dims, const Stream& stream);
void batch_norm_backward_two_pass(float* dx, float* dgamma, float* dbeta, const float* dy,
                                  const float* x, const float* gamma, const float* mean,
                                  const float* inv_std, const BatchNormDims& dims,
                                  GradientMode dx_mode, GradientMode parameter_mode, bool mask,
                                  const Stream& stream);

// For less than 2^31 values per channel. workspace: batch_norm_parts() of Moments, or of
// GradientSums, for each channel.
void batch_norm_forward_split(float* y, float* mean, float* inv_std, float* running_mean,
                              float* running_var, const float* x, const float* gamma,
                              const float* beta, float eps, float momentum,
                              const BatchNormDims& dims, Workspace workspace, const Stream& stream);
void batch_norm_backward_split(float* dx, float* dgamma, float* dbeta, const float* dy,
                               const float* x, const float* gamma, const float* mean,
                               const float* inv_std, const BatchNormDims& dims,
                               GradientMode dx_mode, GradientMode parameter_mode, bool mask,
                               Workspace workspace, const Stream& stream);

}  // namespace weft::kernels::cuda

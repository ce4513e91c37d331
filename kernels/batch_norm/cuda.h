// SPDX-License-Identifier: MIT
// Launchers of two_pass.cu; same parameters as the contracts in batch_norm.h,
// less the workspace, which is not needed.
#pragma once

#include "kernels/batch_norm/batch_norm.h"

namespace weft::kernels::cuda {

void batch_norm_forward(float* y, float* mean, float* inv_std, float* running_mean,
                        float* running_var, const float* x, const float* gamma, const float* beta,
                        float eps, float momentum, const BatchNormDims& dims, const Stream& stream);
void batch_norm_inference(float* y, const float* x, const float* running_mean,
                          const float* running_var, const float* gamma, const float* beta,
                          float eps, const BatchNormDims& dims, const Stream& stream);
void batch_norm_backward(float* dx, float* dgamma, float* dbeta, const float* dy, const float* x,
                         const float* gamma, const float* mean, const float* inv_std,
                         const BatchNormDims& dims, GradientMode dx_mode,
                         GradientMode parameter_mode, const Stream& stream);

}  // namespace weft::kernels::cuda

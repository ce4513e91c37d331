// SPDX-License-Identifier: MIT
// The launchers of a rung, which its file in rungs/ defines; same parameters as the contracts in
// batch_norm.h.
#pragma once

#include "kernels/batch_norm/batch_norm.h"

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
void batch_norm_inference(float* y, const float* x, const float* running_mean,
                          const float* running_var, const float* gamma, const float* beta,
                          float eps, const BatchNormDims& dims, const Stream& stream);

}  // namespace weft::kernels::cuda

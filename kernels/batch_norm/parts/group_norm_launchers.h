// SPDX-License-Identifier: MIT
// What group_norm.h does on a GPU, once its arguments are checked. c, inner and groups are
// positive.
#pragma once

#include "kernels/batch_norm/group_norm.h"

namespace weft::kernels::cuda {

void group_norm_forward(float* y, float* mean, float* inv_std, const float* x, const float* gamma,
                        const float* beta, float eps, const GroupNormDims& dims,
                        const Stream& stream);
void group_norm_input_gradient(float* dx, const float* dy, const float* x, const float* gamma,
                               const float* mean, const float* inv_std, const GroupNormDims& dims,
                               const Stream& stream);
void group_norm_parameter_gradients(float* dgamma, float* dbeta, const float* dy, const float* x,
                                    const float* mean, const float* inv_std,
                                    const GroupNormDims& dims, GradientMode mode,
                                    const Stream& stream);

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// Batch normalisation over (n, inner) for each channel of (n, c, inner), as in PyTorch.
//
//   training   mean, var over n * inner (var biased); y = gamma (x - mean) / sqrt(var + eps) + beta
//              running = (1 - momentum) running + momentum (mean, unbiased var)
//   inference  y = gamma (x - running_mean) / sqrt(running_var + eps) + beta
//   backward   xhat = (x - mean) inv_std, m = n * inner
//              dbeta (+)= sum dy;  dgamma (+)= sum dy xhat
//              dx (+)= gamma inv_std (dy - (sum dy)/m - xhat (sum dy xhat)/m)
//
// Training needs n * inner > 1, else Error{usage}. Ioffe and Szegedy 2015, arXiv:1502.03167.
#pragma once

#include <span>

#include "kernels/common.h"

namespace weft::kernels {

struct BatchNormDims {
  std::int64_t n = 0, c = 0, inner = 1;
};

void batch_norm_forward(float* y,                                 // (n, c, inner)
                        float* mean, float* inv_std,              // (c,) each, saved for backward
                        float* running_mean, float* running_var,  // (c,) each, updated
                        const float* x,                           // (n, c, inner)
                        const float* gamma, const float* beta,    // (c,) each
                        float eps, float momentum, const BatchNormDims& dims, const Stream& stream);
void batch_norm_inference(float* y, const float* x, const float* running_mean,
                          const float* running_var, const float* gamma, const float* beta,
                          float eps, const BatchNormDims& dims, const Stream& stream);
void batch_norm_backward(float* dx,                        // (n, c, inner)
                         float* dgamma, float* dbeta,      // (c,) each
                         const float* dy, const float* x,  // (n, c, inner) each
                         const float* gamma, const float* mean, const float* inv_std,  // (c,)
                         const BatchNormDims& dims, GradientMode dx_mode,
                         GradientMode parameter_mode, Workspace workspace, const Stream& stream);
std::size_t batch_norm_workspace_bytes(const BatchNormDims& dims, Device device);

std::span<const VariantInfo> batch_norm_variants();

}  // namespace weft::kernels

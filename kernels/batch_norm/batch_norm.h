// SPDX-License-Identifier: MIT
// Batch normalisation over (n, inner) for each channel of (n, c, inner), as in PyTorch.
//
//   training   mean, var over n * inner (var biased); y = gamma (x - mean) / sqrt(var + eps) + beta
//              running = (1 - momentum) running + momentum (mean, unbiased var)
//   inference  y = gamma (x - running_mean) / sqrt(running_var + eps) + beta
//   backward   xhat = (x - mean) inv_std, m = n * inner
//              dbeta (+)= sum dy;  dgamma (+)= sum dy xhat
//              dx (+)= gamma inv_std (dy - (sum dy)/m - xhat (sum dy xhat)/m)
//   relu_mask  x is the output of a ReLU, whose backward is done as well: what is written or added
//              is 0 where x is not above 0
//
// Training needs n * inner > 1, else Error{usage}. Ioffe and Szegedy 2015, arXiv:1502.03167.
#pragma once

#include "kernels/ladder.h"

namespace weft::kernels {

struct BatchNormDims {
  std::int64_t n = 0, c = 0, inner = 1;
};

struct BatchNormOptions {
  // Automatic: cluster_per_channel on Hopper, for 16 channels and more that it holds in forward, of
  // arrays that the L2 cache does not hold; else split where a block per channel would leave a GPU
  // idle and the workspace suffices.
  std::string_view variant = kAutomatic;
  bool relu_mask = false;  // backward only
};

// The scratch of forward, of backward and of the steps in over_ranks.h. Only split needs it.
std::size_t batch_norm_workspace_bytes(const BatchNormDims& dims, Device device);

void batch_norm_forward(float* y,                                 // (n, c, inner)
                        float* mean, float* inv_std,              // (c,) each, saved for backward
                        float* running_mean, float* running_var,  // (c,) each, updated
                        const float* x,                           // (n, c, inner)
                        const float* gamma, const float* beta,    // (c,) each
                        float eps, float momentum, const BatchNormDims& dims,
                        const BatchNormOptions& options, Workspace workspace, const Stream& stream);
void batch_norm_inference(float* y, const float* x, const float* running_mean,
                          const float* running_var, const float* gamma, const float* beta,
                          float eps, const BatchNormDims& dims, const Stream& stream);
void batch_norm_backward(float* dx,                        // (n, c, inner)
                         float* dgamma, float* dbeta,      // (c,) each
                         const float* dy, const float* x,  // (n, c, inner) each
                         const float* gamma, const float* mean, const float* inv_std,  // (c,)
                         const BatchNormDims& dims, GradientMode dx_mode,
                         GradientMode parameter_mode, const BatchNormOptions& options,
                         Workspace workspace, const Stream& stream);

// The same without options; forward also without a workspace.
inline void batch_norm_forward(float* y, float* mean, float* inv_std, float* running_mean,
                               float* running_var, const float* x, const float* gamma,
                               const float* beta, float eps, float momentum,
                               const BatchNormDims& dims, const Stream& stream) {
  batch_norm_forward(y, mean, inv_std, running_mean, running_var, x, gamma, beta, eps, momentum,
                     dims, {}, {}, stream);
}
inline void batch_norm_backward(float* dx, float* dgamma, float* dbeta, const float* dy,
                                const float* x, const float* gamma, const float* mean,
                                const float* inv_std, const BatchNormDims& dims,
                                GradientMode dx_mode, GradientMode parameter_mode,
                                Workspace workspace, const Stream& stream) {
  batch_norm_backward(dx, dgamma, dbeta, dy, x, gamma, mean, inv_std, dims, dx_mode, parameter_mode,
                      {}, workspace, stream);
}

// Is inference, which has one version, measured in the row of this rung?
bool batch_norm_stands_for_inference(std::string_view rung);
Rungs batch_norm_rungs();  // in teaching order

}  // namespace weft::kernels

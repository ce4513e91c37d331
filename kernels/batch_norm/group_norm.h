// SPDX-License-Identifier: MIT
// Normalisation of each input alone: Wu and He, "Group Normalization", arXiv 1803.08494, and with
// one group Ba, Kiros and Hinton, "Layer Normalization", arXiv 1607.06450.
//
// x is (n, c, inner), its channels are split into `groups` of neighbours, and M = c / groups *
// inner values of an input are normalised together:
//
//   forward   mean and variance (biased) of the M values; xhat = (x - mean) / sqrt(variance + eps)
//             y = gamma[c] xhat + beta[c]
//   backward  dgamma[c] (+)= sum over n, inner of dy xhat;  dbeta[c] (+)= sum of dy
//             g = dy gamma[c];  dx = (g - mean of g - xhat mean of g xhat) / sqrt(variance + eps)
//
// The variance is the mean of (x - mean)^2, so that nothing cancels. Sums have a fixed order.
// Extents
// >= 0, groups divides c, eps > 0, and n of the parameter gradients may be 0, else Error{usage}.
// Traffic: forward 16 |x| bytes (three reads, one write), backward 28 |x|.
#pragma once

#include "kernels/ladder.h"

namespace weft::kernels {

struct GroupNormDims {
  std::int64_t n = 0, c = 0, inner = 1, groups = 1;

  std::int64_t group_channels() const { return c / groups; }
  std::int64_t group_values() const { return group_channels() * inner; }
};

void group_norm_forward(float* y,                               // (n, c, inner); not x
                        float* mean, float* inv_std,            // (n, groups) each
                        const float* x,                         // (n, c, inner)
                        const float* gamma, const float* beta,  // (c,) each
                        float eps, const GroupNormDims& dims, const Stream& stream);
// dx is null where nobody needs it; it is overwritten, and `mode` is that of the others.
void group_norm_backward(float* dx,                                // (n, c, inner), or null
                         float* dgamma, float* dbeta,              // (c,) each
                         const float* dy, const float* x,          // (n, c, inner) each
                         const float* gamma,                       // (c,)
                         const float* mean, const float* inv_std,  // (n, groups), of forward
                         const GroupNormDims& dims, GradientMode mode, const Stream& stream);

}  // namespace weft::kernels

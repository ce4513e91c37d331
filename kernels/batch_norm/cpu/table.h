// SPDX-License-Identifier: MIT
// The CPU kernels of this family, one table per instruction set.
#pragma once

#include "kernels/batch_norm/over_ranks.h"
#include "kernels/isa.h"

namespace weft::kernels {

struct BatchNormCpu {
  void (*forward)(float* y, float* mean, float* inv_std, float* running_mean, float* running_var,
                  const float* x, const float* gamma, const float* beta, float eps, float momentum,
                  const BatchNormDims& dims);
  void (*inference)(float* y, const float* x, const float* running_mean, const float* running_var,
                    const float* gamma, const float* beta, float eps, const BatchNormDims& dims);
  void (*backward)(float* dx, float* dgamma, float* dbeta, const float* dy, const float* x,
                   const float* gamma, const float* mean, const float* inv_std,
                   const BatchNormDims& dims, GradientMode dx_mode, GradientMode parameter_mode,
                   bool mask);
  void (*moments)(Moments* moments, float* mean, const float* x, const BatchNormDims& dims,
                  double all);
  void (*gradient_sums)(float* dgamma, float* dbeta, float* means, const float* dy, const float* x,
                        const float* mean, const float* inv_std, const BatchNormDims& dims,
                        double all, GradientMode parameter_mode);
  void (*input_gradient)(float* dx, const float* dy, const float* x, const float* gamma,
                         const float* mean, const float* inv_std, const float* means,
                         const BatchNormDims& dims, GradientMode dx_mode, bool mask);
};

WEFT_DECLARE_CPU_TABLE(BatchNormCpu, batch_norm_cpu)

}  // namespace weft::kernels

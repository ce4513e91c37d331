// SPDX-License-Identifier: MIT
// The CPU version of a normalisation of each input alone, one table per instruction set.
#pragma once

#include "kernels/batch_norm/group_norm.h"
#include "kernels/isa.h"

namespace weft::kernels {

struct GroupNormCpu {
  void (*forward)(float* y, float* mean, float* inv_std, const float* x, const float* gamma,
                  const float* beta, float eps, const GroupNormDims& dims);
  void (*input_gradient)(float* dx, const float* dy, const float* x, const float* gamma,
                         const float* mean, const float* inv_std, const GroupNormDims& dims);
  void (*parameter_gradients)(float* dgamma, float* dbeta, const float* dy, const float* x,
                              const float* mean, const float* inv_std, const GroupNormDims& dims,
                              GradientMode mode);
};

WEFT_DECLARE_CPU_TABLE(GroupNormCpu, group_norm_cpu)

}  // namespace weft::kernels

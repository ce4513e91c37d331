// SPDX-License-Identifier: MIT
// The CPU kernels of this family, one table per instruction set.
#pragma once

#include "kernels/isa.h"
#include "kernels/pool/pool.h"

namespace weft::kernels {

struct PoolCpu {
  void (*max_forward)(float* y, std::int32_t* argmax, const float* x, const PoolDims& dims);
  void (*max_backward)(float* dx, const float* dy, const std::int32_t* argmax, const PoolDims& dims,
                       GradientMode mode);
  void (*avg_forward)(float* y, const float* x, const PoolDims& dims);
  void (*avg_backward)(float* dx, const float* dy, const PoolDims& dims, GradientMode mode);
  void (*bias_sigmoid_forward)(float* y, const float* x, const float* bias, const PoolDims& dims);
  void (*bias_sigmoid_backward)(float* dx, float* dbias, const float* dy, const float* y,
                                const PoolDims& dims, GradientMode mode);
};

WEFT_DECLARE_CPU_TABLE(PoolCpu, pool_cpu)

}  // namespace weft::kernels

// SPDX-License-Identifier: MIT
// Launchers of the CUDA rungs, one file each; same parameters as the contracts in pool.h.
#pragma once

#include "kernels/pool/pool.h"

namespace weft::kernels::cuda {

#define WEFT_POOL_LAUNCHERS(technique)                                                         \
  void max_pool2d_forward_##technique(float* y, std::int32_t* argmax, const float* x,          \
                                      const PoolDims& dims, const Stream& stream);             \
  void max_pool2d_backward_##technique(float* dx, const float* dy, const std::int32_t* argmax, \
                                       const PoolDims& dims, GradientMode mode,                \
                                       const Stream& stream);                                  \
  void avg_pool2d_forward_##technique(float* y, const float* x, const PoolDims& dims,          \
                                      const Stream& stream);                                   \
  void avg_pool2d_backward_##technique(float* dx, const float* dy, const PoolDims& dims,       \
                                       GradientMode mode, const Stream& stream);

WEFT_POOL_LAUNCHERS(gather)
WEFT_POOL_LAUNCHERS(vectorized)
#undef WEFT_POOL_LAUNCHERS

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// Launchers of gather.cu; same parameters as the contracts in pool.h.
#pragma once

#include "kernels/pool/pool.h"

namespace weft::kernels::cuda {

void max_pool2d_forward(float* y, std::int32_t* argmax, const float* x, const PoolDims& dims,
                        const Stream& stream);
void max_pool2d_backward(float* dx, const float* dy, const std::int32_t* argmax,
                         const PoolDims& dims, GradientMode mode, const Stream& stream);
void avg_pool2d_forward(float* y, const float* x, const PoolDims& dims, const Stream& stream);
void avg_pool2d_backward(float* dx, const float* dy, const PoolDims& dims, GradientMode mode,
                         const Stream& stream);

}  // namespace weft::kernels::cuda

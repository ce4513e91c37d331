// SPDX-License-Identifier: MIT
// The functions behind pool.h on a GPU: those that the file of a rung in rungs/ defines. Parameters
// are those of the contracts there, and there is something to compute.
#pragma once

#include <string>

#include "kernels/pool/pool.h"

namespace weft::kernels::cuda {

using MaxPoolForward = void(float* y, std::int32_t* argmax, const float* x, const PoolDims& dims,
                            const Stream& stream);
using MaxPoolBackward = void(float* dx, const float* dy, const std::int32_t* argmax,
                             const PoolDims& dims, GradientMode mode, const Stream& stream);
using AvgPoolForward = void(float* y, const float* x, const PoolDims& dims, const Stream& stream);
using AvgPoolBackward = void(float* dx, const float* dy, const PoolDims& dims, GradientMode mode,
                             const Stream& stream);
using AvgPoolBiasSigmoidForward = void(float* y, const float* x, const float* bias,
                                       const PoolDims& dims, const Stream& stream);
using AvgPoolBiasSigmoidBackward = void(float* dx, float* dbias, const float* dy, const float* y,
                                        const PoolDims& dims, GradientMode mode,
                                        const Stream& stream);
// Why the rung cannot take such windows; empty when it can.
using PoolTakes = std::string(const PoolDims& dims);

}  // namespace weft::kernels::cuda

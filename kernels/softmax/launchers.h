// SPDX-License-Identifier: MIT
// The functions behind softmax.h on a GPU: those that the file of a rung in rungs/ defines.
// Parameters are those of the contracts there; there is at least one row of at least one column.
#pragma once

#include "kernels/softmax/softmax.h"

namespace weft::kernels::cuda {

// The longest rows that fit the registers of a warp, a block and a cluster.
constexpr std::int64_t kWarpColumns = 1024, kBlockColumns = 16384, kClusterColumns = 131072;

using SoftmaxForward = void(float* y, const float* x, std::int64_t rows, std::int64_t cols,
                            const Stream& stream);
using SoftmaxBackward = void(float* dx, const float* dy, const float* y, std::int64_t rows,
                             std::int64_t cols, GradientMode mode, const Stream& stream);
using SoftmaxCrossEntropy = void(float* loss, float* dx, std::int32_t* prediction, const float* x,
                                 const std::int32_t* labels, float scale, float smoothing,
                                 std::int64_t rows, std::int64_t cols, const Stream& stream);

}  // namespace weft::kernels::cuda

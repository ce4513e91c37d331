// SPDX-License-Identifier: MIT
// The functions behind conv2d_relu_pool_*() on a GPU: those that the file of a rung defines.
#pragma once

#include <string>

#include "kernels/conv_relu_pool/conv_relu_pool.h"

namespace weft::kernels::cuda {

// One for each pass, as in conv_relu_pool.h. There is at least one image, one whole window and one
// channel and filter. The workspace holds what the row says.
using ReluPoolForward = void(float* y, std::uint8_t* argmax, const float* x, const float* w,
                             const float* bias, const ReluPoolDims& dims,
                             const ReluPoolOptions& options, Workspace workspace,
                             const Stream& stream);
using ReluPoolBackwardData = void(float* dx, const float* dy, const std::uint8_t* argmax,
                                  const float* w, const ReluPoolDims& dims, GradientMode mode,
                                  const ReluPoolOptions& options, Workspace workspace,
                                  const Stream& stream);
using ReluPoolBackwardWeights = void(float* dw, float* db, const float* dy,
                                     const std::uint8_t* argmax, const float* x,
                                     const ReluPoolDims& dims, GradientMode mode,
                                     const ReluPoolOptions& options, Workspace workspace,
                                     const Stream& stream);
using ReluPoolBackwardStem = void(float* dw, float* db, const float* dy, const std::uint8_t* argmax,
                                  const float* w, const ReluPoolDims& dims, GradientMode mode,
                                  const ReluPoolOptions& options, Workspace workspace,
                                  const Stream& stream);
// Why the rung cannot take a shape; empty when it can.
using ReluPoolTakes = std::string(const ReluPoolProblem& problem);
using ReluPoolWorkspace = std::size_t(const ReluPoolProblem& problem);  // bytes

// Do the windows of one filter and a channel of x fit in the shared memory of "staged_images"?
bool stages_windows(const ReluPoolDims& dims);

}  // namespace weft::kernels::cuda

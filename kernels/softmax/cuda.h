// SPDX-License-Identifier: MIT
// Launchers of the CUDA rungs, one file each; same parameters as the contracts in softmax.h.
#pragma once

#include "kernels/softmax/softmax.h"

namespace weft::kernels::cuda {

// The longest rows that fit the registers of a warp, a block and a cluster; three_pass and online
// take any.
constexpr std::int64_t kWarpColumns = 1024, kBlockColumns = 16384, kClusterColumns = 131072;

#define WEFT_SOFTMAX_LAUNCHERS(technique)                                                          \
  void softmax_forward_##technique(float* y, const float* x, std::int64_t rows, std::int64_t cols, \
                                   const Stream& stream);                                          \
  void softmax_backward_##technique(float* dx, const float* dy, const float* y, std::int64_t rows, \
                                    std::int64_t cols, GradientMode mode, const Stream& stream);   \
  void softmax_cross_entropy_##technique(float* loss, float* dx, std::int32_t* prediction,         \
                                         const float* x, const std::int32_t* labels, float scale,  \
                                         float smoothing, std::int64_t rows, std::int64_t cols,    \
                                         const Stream& stream);

WEFT_SOFTMAX_LAUNCHERS(three_pass)
WEFT_SOFTMAX_LAUNCHERS(online)
WEFT_SOFTMAX_LAUNCHERS(warp)
WEFT_SOFTMAX_LAUNCHERS(block)
WEFT_SOFTMAX_LAUNCHERS(cluster)  // sm_90
#undef WEFT_SOFTMAX_LAUNCHERS

}  // namespace weft::kernels::cuda

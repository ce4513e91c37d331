// SPDX-License-Identifier: MIT
// Launchers of warp_per_row.cu (cols <= kWarpColumns) and block_per_row.cu (any cols >= 1); same
// parameters as the contracts in softmax.h.
#pragma once

#include "kernels/softmax/softmax.h"

namespace weft::kernels::cuda {

// The longest row that a warp keeps in registers, 32 values per lane.
constexpr std::int64_t kWarpColumns = 1024;

void softmax_forward_warp(float* y, const float* x, std::int64_t rows, std::int64_t cols,
                          const Stream& stream);
void softmax_forward_block(float* y, const float* x, std::int64_t rows, std::int64_t cols,
                           const Stream& stream);
void softmax_backward_warp(float* dx, const float* dy, const float* y, std::int64_t rows,
                           std::int64_t cols, GradientMode mode, const Stream& stream);
void softmax_backward_block(float* dx, const float* dy, const float* y, std::int64_t rows,
                            std::int64_t cols, GradientMode mode, const Stream& stream);
void softmax_cross_entropy_warp(float* loss, float* dx, std::int32_t* prediction, const float* x,
                                const std::int32_t* labels, float scale, std::int64_t rows,
                                std::int64_t cols, const Stream& stream);
void softmax_cross_entropy_block(float* loss, float* dx, std::int32_t* prediction, const float* x,
                                 const std::int32_t* labels, float scale, std::int64_t rows,
                                 std::int64_t cols, const Stream& stream);

}  // namespace weft::kernels::cuda

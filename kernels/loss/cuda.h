// SPDX-License-Identifier: MIT
// Launchers of warp_per_row.cu and block.cu; same parameters as the contracts in loss.h.
#pragma once

#include "kernels/loss/loss.h"

namespace weft::kernels::cuda {

void mean_squared_error(float* loss, float* dy, const float* y, const float* target, float scale,
                        std::int64_t rows, std::int64_t cols, const Stream& stream);
void accumulate_totals(MetricTotals* totals, const float* loss, const std::int32_t* prediction,
                       const std::int32_t* labels, std::int64_t rows, const Stream& stream);

}  // namespace weft::kernels::cuda

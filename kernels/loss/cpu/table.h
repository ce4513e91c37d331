// SPDX-License-Identifier: MIT
// The CPU kernels of this family, one table per instruction set.
#pragma once

#include "kernels/isa.h"
#include "kernels/loss/loss.h"

namespace weft::kernels {

struct LossCpu {
  void (*mean_squared_error)(float* loss, float* dy, const float* y, const float* target,
                             float scale, std::int64_t rows, std::int64_t cols);
  void (*accumulate_totals)(MetricTotals* totals, const float* loss, const std::int32_t* prediction,
                            const std::int32_t* labels, std::int64_t rows);
};

WEFT_DECLARE_CPU_TABLE(LossCpu, loss_cpu)

}  // namespace weft::kernels

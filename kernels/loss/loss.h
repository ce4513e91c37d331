// SPDX-License-Identifier: MIT
// Mean squared error, and running totals of loss and hits kept on the device.
#pragma once

#include "kernels/ladder.h"

namespace weft::kernels {

// loss[r] = mean over c of (y[r,c] - target[r,c])^2;  dy[r,c] = scale * 2 (y - target) / cols.
// Either output may be null.
void mean_squared_error(float* loss,          // (rows,) or null
                        float* dy,            // (rows, cols) or null
                        const float* y,       // (rows, cols)
                        const float* target,  // (rows, cols)
                        float scale, std::int64_t rows, std::int64_t cols, std::string_view variant,
                        const Stream& stream);

// Sums over the batches of an epoch, so that the host reads once and not at every step.
struct MetricTotals {
  double loss_sum = 0;    // of per-row losses; NaN once any row was NaN
  std::int64_t hits = 0;  // rows whose prediction equals the label
  std::int64_t rows = 0;
};

// totals += this batch, summed in a fixed order. prediction and labels may both be null (no hits).
void accumulate_totals(MetricTotals* totals, const float* loss, const std::int32_t* prediction,
                       const std::int32_t* labels, std::int64_t rows, std::string_view variant,
                       const Stream& stream);

// The same, by the rung that `automatic` takes.
inline void mean_squared_error(float* loss, float* dy, const float* y, const float* target,
                               float scale, std::int64_t rows, std::int64_t cols,
                               const Stream& stream) {
  mean_squared_error(loss, dy, y, target, scale, rows, cols, kAutomatic, stream);
}
inline void accumulate_totals(MetricTotals* totals, const float* loss,
                              const std::int32_t* prediction, const std::int32_t* labels,
                              std::int64_t rows, const Stream& stream) {
  accumulate_totals(totals, loss, prediction, labels, rows, kAutomatic, stream);
}

enum class LossOperation { mean_squared_error, accumulate_totals };

std::optional<LossOperation> loss_operation(std::string_view rung);  // empty: no such rung
Rungs loss_rungs();                                                  // of both operations
// Throws usage, naming the rungs, unless there is such a rung or it is `automatic`.
bool loss_takes(std::string_view variant, LossOperation operation, Device device);

}  // namespace weft::kernels

// SPDX-License-Identifier: MIT
#include "models/answers/metrics.h"

#include <algorithm>
#include <cmath>

namespace weft::models {

double Metrics::standard_error() const {
  if (images <= 0) return 0;
  return std::sqrt(std::max(0.0, accuracy * (1 - accuracy)) / static_cast<double>(images));
}

Metrics metrics_of(const kernels::MetricTotals& totals) {
  if (totals.rows == 0) return {};
  const auto rows = static_cast<double>(totals.rows);
  return {totals.loss_sum / rows, static_cast<double>(totals.hits) / rows, totals.rows};
}

std::vector<StepMetrics> step_metrics(const std::vector<StepRecord>& records) {
  std::vector<StepMetrics> metrics;
  int epoch = 1;
  kernels::MetricTotals before;
  for (const StepRecord& record : records) {
    const kernels::MetricTotals& now = record.totals;
    if (now.rows <= before.rows) {
      before = {};
      ++epoch;
    }
    metrics.push_back({epoch, record.step, record.lr,
                       metrics_of({now.loss_sum - before.loss_sum, now.hits - before.hits,
                                   now.rows - before.rows})});
    before = now;
  }
  return metrics;
}

int best_epoch(const std::vector<EpochRecord>& history) {
  const auto best = std::ranges::max_element(history, {}, [](const EpochRecord& record) {
    return record.validation ? record.validation->accuracy : -1;
  });
  return best != history.end() && best->validation ? best->epoch : 0;
}

}  // namespace weft::models

// SPDX-License-Identifier: MIT
// Loss and accuracy of an epoch or an evaluation.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/loss/loss.h"
#include "models/answers/calibration.h"

namespace weft::models {

struct Metrics {
  double loss = 0;      // mean per image
  double accuracy = 0;  // 0..1
  std::int64_t images = 0;
  double standard_error() const;  // binomial: sqrt(a (1 - a) / images); 0 for no images
};

Metrics metrics_of(const kernels::MetricTotals& totals);

struct EpochRecord {
  int epoch = 0;  // 1-based
  Metrics train;  // running, while the weights change
  std::optional<Metrics> validation;
  Metrics test;
  double seconds = 0;  // of training alone, without evaluation
  double lr = 0;       // at the last step
  Calibration calibration = {};
};

// The totals of an epoch after some of its steps. They are taken when the trainer reads them
// anyway.
struct StepRecord {
  std::int64_t step = 0;  // steps of the run that are done
  double lr = 0;          // at the last of them
  kernels::MetricTotals totals = {};
};

// What training did between a record and the one before it in the same epoch.
struct StepMetrics {
  int epoch = 0;  // 1-based
  std::int64_t step = 0;
  double lr = 0;
  Metrics train;
};
std::vector<StepMetrics> step_metrics(const std::vector<StepRecord>& records);

// The epoch with the highest validation accuracy, the earliest of equals; 0 without validation.
int best_epoch(const std::vector<EpochRecord>& history);

}  // namespace weft::models

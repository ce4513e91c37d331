// SPDX-License-Identifier: MIT
// The mean squared error with its gradient, and the running totals of an epoch.
#pragma once

#include <cmath>

#include "kernels/loss/loss.h"
#include "kernels/problem.h"

namespace weft::problems {

struct MeanSquaredError {
  std::int64_t rows, cols;

  std::int64_t elements() const { return rows * cols; }
  std::string text() const {
    return str("mean squared error and gradient, ", rows, " rows of ", cols);
  }
  double bytes() const {
    return 12.0 * static_cast<double>(elements()) + 4.0 * static_cast<double>(rows);
  }
  double footprint() const { return 12.0 * static_cast<double>(elements()); }
  // A difference, a square, a sum and a product.
  double flops() const { return 4.0 * static_cast<double>(elements()); }
};

struct MetricTotals {
  std::int64_t rows;

  std::string text() const { return str("totals of ", rows, " rows"); }
  double bytes() const { return 12.0 * static_cast<double>(rows); }
  double flops() const { return static_cast<double>(rows); }
};

}  // namespace weft::problems

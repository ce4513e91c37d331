// SPDX-License-Identifier: MIT
// Softmax over rows, with its oracle.
#pragma once

#include "kernels/problem.h"
#include "kernels/softmax/cpu/templates.h"
#include "kernels/softmax/softmax.h"

namespace weft::problems {

struct Softmax {
  std::int64_t rows, cols;
  bool backward = false;

  std::int64_t elements() const { return rows * cols; }
  std::string text() const { return str(backward ? "backward, " : "", rows, " rows of ", cols); }
  double bytes() const { return (backward ? 12.0 : 8.0) * static_cast<double>(elements()); }
  double flops() const { return (backward ? 4.0 : 5.0) * static_cast<double>(elements()); }

  // One row of y from x, or of dx from dy and y.
  void expect_row(double* out, const double* in, const double* y) const {
    using kernels::GradientMode;
    if (!backward) return kernels::cpu::softmax_forward<double>(out, in, 1, cols);
    kernels::cpu::softmax_backward<double>(out, in, y, 1, cols, GradientMode::overwrite);
  }
  // The bounds are those of float with |x - max| <= 16.
  double bound(double expected, double y) const {
    return (backward ? 2e-6 * y : 2e-5 * expected) + 1e-30;
  }
};

}  // namespace weft::problems

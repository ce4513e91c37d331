// SPDX-License-Identifier: MIT
// The inclusive sum of floats as tests and benchmarks ask for it.
#pragma once

#include "kernels/problem.h"
#include "kernels/scan/scan.h"

namespace weft::problems {

struct Scan {
  std::int64_t n;

  std::string text() const { return str(n, " floats, inclusive sum"); }
  double bytes() const { return 8.0 * static_cast<double>(n); }
  double flops() const { return n > 1 ? static_cast<double>(n - 1) : 0.0; }
};

}  // namespace weft::problems

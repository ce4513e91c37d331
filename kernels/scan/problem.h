// SPDX-License-Identifier: MIT
// The inclusive sum of floats as tests and benchmarks ask for it.
#pragma once

#include "kernels/problem.h"
#include "kernels/scan/scan.h"

namespace weft::problems {

struct Scan {
  std::int64_t n;

  std::string text() const { return str(n, " floats, inclusive sum"); }
  double bytes() const { return kernels::scan_bytes(n, sizeof(float)); }
  double flops() const { return kernels::scan_flops(n); }
};

}  // namespace weft::problems

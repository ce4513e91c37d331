// SPDX-License-Identifier: MIT
// The transpose as tests and benchmarks ask for it. It computes nothing.
#pragma once

#include "kernels/problem.h"
#include "kernels/transpose/transpose.h"

namespace weft::problems {

struct Transpose {
  kernels::TransposeDims dims;

  std::string text() const { return str(dims.rows, " x ", dims.cols); }
  double bytes() const { return 8.0 * static_cast<double>(dims.elements()); }
  // Where in x the element `at` of y comes from.
  std::int64_t source(std::int64_t at) const { return at % dims.rows * dims.cols + at / dims.rows; }
};

}  // namespace weft::problems

// SPDX-License-Identifier: MIT
// What the problems of kernels/FAMILY/problem.h share.
#pragma once

#include <algorithm>
#include <cmath>
#include <ostream>

#include "engine/error.h"

namespace weft::problems {

template <class Problem>
requires requires(const Problem& p) {
  p.text();
}
std::ostream& operator<<(std::ostream& out, const Problem& p) {
  return out << p.text();
}

// The terms of one sum of products in double: what a result has to be, and how far it may be off.
struct Terms {
  double sum = 0, squares = 0, magnitude = 0, count = 0;  // magnitude: of their absolute values

  void add(double product) {
    sum += product;
    squares += product * product;
    magnitude += std::fabs(product);
    count += 1;
  }
  // Independent errors of the products, relative, and rounding of the running fp32 sum.
  double bound(double product_error) const {
    return 6 * product_error * std::sqrt(squares) +
           4 * std::ldexp(1.0, -23) * (std::fabs(sum) + std::sqrt(squares * std::max(count, 1.0)));
  }
  // The error of a result over the magnitude, in units of 2^-24.
  double error(double found) const {
    const double off = std::fabs(found - sum);
    if (std::isnan(off)) return HUGE_VAL;
    return magnitude > 0 ? std::ldexp(off / magnitude, 24) : 0;
  }
};

}  // namespace weft::problems

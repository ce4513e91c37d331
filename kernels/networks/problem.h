// SPDX-License-Identifier: MIT
// A network trained as a whole on random images, at a rate of 0: parameters must then stay as they
// are, to the bit, and velocity becomes a sum of gradients that are all the same, since each step
// takes the whole data set in another order. So one gradient in double tells what any number of
// steps has to leave.
#pragma once

#include <cmath>

#include "kernels/optimizer/optimizer.h"
#include "kernels/problem.h"

namespace weft::problems {

struct Training {
  static constexpr bool kByFlops = true;
  static constexpr kernels::SgdOptions kSgd = {0.9f, 0, true};

  std::int64_t rows;  // the whole data set is one batch
  int steps;
  std::string_view name;
  std::int64_t pixels, classes, parameters;
  double step_products;  // of one image, by the formula
  float spread;          // parameters lie within, so that values neither grow nor vanish
  double tolerance;      // of a gradient, relative to the largest

  std::string text() const { return str(steps, " steps of ", name, ", ", rows, " images each"); }
  // Images in; parameters and velocity in and out.
  double bytes() const {
    return static_cast<double>(steps) *
           (static_cast<double>(rows * pixels) + 16.0 * static_cast<double>(parameters));
  }
  double footprint() const { return HUGE_VAL; }  // one set of buffers, as in training
  double flops() const { return 2 * step_products * static_cast<double>(rows * steps); }
  // What velocity is after so many calls, over the gradient.
  double gradients(std::int64_t calls) const {
    const double momentum = static_cast<double>(kSgd.momentum);
    return (1 - std::pow(momentum, static_cast<double>(calls * steps))) / (1 - momentum);
  }
};

}  // namespace weft::problems

// SPDX-License-Identifier: MIT
// A convolution with one small filter as tests and benchmarks ask for it, with its oracle.
#pragma once

#include <cmath>
#include <utility>

#include "kernels/problem.h"
#include "kernels/signal/signal.h"

namespace weft::problems {

struct Signal {
  kernels::SignalDims dims;

  std::string text() const {
    return str(dims.rank(), "-D, ", dims.depth, " x ", dims.height, " x ", dims.width, ", filter ",
               dims.filter_depth, " x ", dims.filter_height, " x ", dims.filter_width);
  }
  double bytes() const { return footprint() + 4.0 * static_cast<double>(dims.taps()); }
  double footprint() const { return 8.0 * static_cast<double>(dims.elements()); }
  double flops() const {
    return 2.0 * static_cast<double>(dims.elements()) * static_cast<double>(dims.taps());
  }

  // Element `at` of y by the formula, and the sum of its terms' absolute values.
  std::pair<double, double> expected(std::int64_t at, const float* x, const float* filter) const {
    const kernels::SignalDims& d = dims;
    const std::int64_t w = at % d.width, h = at / d.width % d.height, z = at / (d.width * d.height);
    double sum = 0, magnitude = 0;
    for (std::int64_t tap = 0; tap < d.taps(); ++tap) {
      const std::int64_t i = z + tap / (d.filter_width * d.filter_height) - d.filter_depth / 2;
      const std::int64_t j = h + tap / d.filter_width % d.filter_height - d.filter_height / 2;
      const std::int64_t k = w + tap % d.filter_width - d.filter_width / 2;
      if (i < 0 || i >= d.depth || j < 0 || j >= d.height || k < 0 || k >= d.width) continue;
      const double product = static_cast<double>(filter[tap]) *
                             static_cast<double>(x[(i * d.height + j) * d.width + k]);
      sum += product;
      magnitude += std::fabs(product);
    }
    return {sum, magnitude};
  }
};

}  // namespace weft::problems

// SPDX-License-Identifier: MIT
// Gathering a batch from a data set of bytes, plain and augmented.
#pragma once

#include <cmath>

#include "kernels/batch/batch.h"
#include "kernels/problem.h"

namespace weft::problems {

struct Gather {
  static constexpr kernels::BatchDims kDims = {1, 28, 28};
  static constexpr std::int64_t kPixels = 28 * 28;

  std::int64_t rows, count;  // in a batch, of the set
  bool augmented = false;

  kernels::Augmentation augmentation() const {
    return augmented ? kernels::Augmentation{10, 0.1f, 0.1f, 2} : kernels::Augmentation{};
  }
  std::string text() const {
    return str(rows, " of ", count, " images of 28 x 28, shuffled",
               augmented ? " and augmented" : "");
  }
  double bytes() const {  // a byte in, a float out; label and index
    return static_cast<double>(rows) * (5.0 * kPixels + 4 + 4 + 8);
  }
  // Normalising; augmented, also the place of a pixel and the mean of four.
  double flops() const { return (augmented ? 16.0 : 2.0) * static_cast<double>(rows * kPixels); }
  // Places are rounded to about 28 * 2^-23 pixels, and a pixel may differ from the next by 3.2.
  double bound() const { return augmented ? 2e-4 : std::ldexp(1.0, -21); }
};

}  // namespace weft::problems

// SPDX-License-Identifier: MIT
// Histograms of bytes in 256 bins, or of floats in [0, 1) in even bins, whose number is a power of
// two: the arithmetic is then exact in float too.
#pragma once

#include "kernels/histogram/histogram.h"
#include "kernels/problem.h"

namespace weft::problems {

enum class HistogramInput { uniform, one_value, skewed, floats };

struct Histogram {
  std::int64_t n;
  HistogramInput input = HistogramInput::uniform;
  std::int64_t bins = kernels::kHistogramByteBins;

  bool of_bytes() const { return input != HistogramInput::floats; }
  std::string text() const {
    using enum HistogramInput;
    if (!of_bytes()) return str(n, " floats, ", bins, " even bins");
    return str(n, " bytes, ",
               input == uniform     ? "uniform"
               : input == one_value ? "one value"
                                    : "skewed");
  }
  double bytes() const { return (of_bytes() ? 1.0 : 4.0) * static_cast<double>(n); }
  std::size_t bin(std::uint8_t value) const { return value; }
  std::size_t bin(float value) const {
    return static_cast<std::size_t>(static_cast<double>(value) * static_cast<double>(bins));
  }
};

}  // namespace weft::problems

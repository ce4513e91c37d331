// SPDX-License-Identifier: MIT
// Pixel statistics from a histogram, exact in integers until the last step.
#include "data/statistics.h"

#include <array>
#include <cmath>

namespace weft::data {

void set_statistics(Dataset& dataset) {
  std::array<std::int64_t, 256> histogram{};
  for (const std::uint8_t pixel : dataset.train.images) ++histogram[pixel];
  std::int64_t sum = 0, squares = 0;
  for (std::int64_t v = 0; v < 256; ++v) {
    sum += histogram[static_cast<std::size_t>(v)] * v;
    squares += histogram[static_cast<std::size_t>(v)] * v * v;
  }
  dataset.mean = 0;
  dataset.stddev = 1;
  const double n = static_cast<double>(dataset.train.images.size());
  if (n == 0) return;
  const double mean = static_cast<double>(sum) / n / 255;
  const double variance = static_cast<double>(squares) / n / (255.0 * 255.0) - mean * mean;
  const auto rounded = [](double v) { return static_cast<float>(std::round(v * 1e4) / 1e4); };
  dataset.mean = rounded(mean);
  const float stddev = rounded(std::sqrt(std::fmax(variance, 0)));
  if (stddev > 0) dataset.stddev = stddev;
}

}  // namespace weft::data

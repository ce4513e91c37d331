// SPDX-License-Identifier: MIT
// Pixel statistics from a histogram, exact in integers until the last step.
#include "data/sets/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace weft::data {

namespace {

using Histogram = std::array<std::int64_t, 256>;

// The bytes of one channel of all images.
Histogram count_bytes(const ImageSet& set, std::int64_t channel) {
  Histogram histogram{};
  const std::int64_t plane = set.height * set.width;
  for (std::int64_t image = 0; image < set.count; ++image) {
    const auto first = set.images.begin() + image * set.pixels() + channel * plane;
    std::for_each(first, first + plane, [&](std::uint8_t pixel) { ++histogram[pixel]; });
  }
  return histogram;
}

float rounded(double value) {
  return static_cast<float>(std::round(value * 1e4) / 1e4);
}

}  // namespace

void set_statistics(Dataset& dataset) {
  const ImageSet& set = dataset.train;
  dataset.mean.assign(static_cast<std::size_t>(set.channels), 0);
  dataset.stddev.assign(static_cast<std::size_t>(set.channels), 1);
  const double n = static_cast<double>(set.count * set.height * set.width);
  if (n == 0) return;
  for (std::size_t channel = 0; channel < dataset.mean.size(); ++channel) {
    const Histogram histogram = count_bytes(set, static_cast<std::int64_t>(channel));
    std::int64_t sum = 0, squares = 0;
    for (std::int64_t v = 0; v < 256; ++v) {
      sum += histogram[static_cast<std::size_t>(v)] * v;
      squares += histogram[static_cast<std::size_t>(v)] * v * v;
    }
    const double mean = static_cast<double>(sum) / n / 255;
    const double variance = static_cast<double>(squares) / n / (255.0 * 255.0) - mean * mean;
    dataset.mean[channel] = rounded(mean);
    const float stddev = rounded(std::sqrt(std::fmax(variance, 0)));
    if (stddev > 0) dataset.stddev[channel] = stddev;
  }
}

}  // namespace weft::data

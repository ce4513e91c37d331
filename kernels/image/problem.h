// SPDX-License-Identifier: MIT
// Pictures to grey and blurred, by their definitions. Integers throughout, so no FLOPs: memory is
// the bound.
#pragma once

#include <algorithm>

#include "kernels/image/image.h"
#include "kernels/problem.h"

namespace weft::problems {

struct Grey {
  std::int64_t pixels;

  std::string text() const { return str("RGB to grey, ", pixels, " pixels"); }
  double bytes() const { return 4.0 * static_cast<double>(pixels); }
  static int expected(const std::uint8_t* pixel) {
    return (19595 * pixel[0] + 38470 * pixel[1] + 7471 * pixel[2] + 32768) >> 16;
  }
};

struct Blur {
  kernels::ImageDims dims;
  std::int64_t radius;

  std::string text() const {
    return str("box blur of ", dims.height, " x ", dims.width, ", window ", 2 * radius + 1, " x ",
               2 * radius + 1);
  }
  double bytes() const { return 2.0 * static_cast<double>(dims.elements()); }
  std::int64_t expected(std::int64_t at, const std::uint8_t* picture) const {
    const std::int64_t channel = at % dims.channels, x = at / dims.channels % dims.width;
    const std::int64_t row = at / (dims.channels * dims.width);
    std::int64_t sum = 0, count = 0;
    const std::int64_t top = std::max<std::int64_t>(0, row - radius);
    const std::int64_t left = std::max<std::int64_t>(0, x - radius);
    for (std::int64_t i = top; i <= std::min(row + radius, dims.height - 1); ++i) {
      for (std::int64_t j = left; j <= std::min(x + radius, dims.width - 1); ++j) {
        sum += picture[(i * dims.width + j) * dims.channels + channel];
        ++count;
      }
    }
    return (2 * sum + count) / (2 * count);
  }
};

}  // namespace weft::problems

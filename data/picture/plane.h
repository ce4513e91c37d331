// SPDX-License-Identifier: MIT
// A grey picture in float, and its resampling. What preprocess.cpp works on.
#pragma once

#include <cstdint>
#include <vector>

#include "data/picture/image.h"

namespace weft::data {

struct Plane {
  std::int64_t width = 0, height = 0;
  std::vector<float> values;  // (height, width)

  Plane() = default;
  Plane(std::int64_t w, std::int64_t h, float value = 0)
      : width(w), height(h), values(static_cast<std::size_t>(w * h), value) {}

  float& at(std::int64_t x, std::int64_t y) {
    return values[static_cast<std::size_t>(y * width + x)];
  }
  float at(std::int64_t x, std::int64_t y) const {
    return values[static_cast<std::size_t>(y * width + x)];
  }
};

// Pixels where they lie: `channels` values each, and `stride` values from a row to the next.
struct PixelView {
  const std::uint8_t* values;
  std::int64_t width, height, channels, stride;
};

// The picture at another size (both >= 1), each axis on its own: every new pixel is the mean of the
// area it covers where the picture shrinks, linear between pixel centres where it grows. The same
// size gives the same values, bit for bit.
Plane resample(const Plane& source, std::int64_t width, std::int64_t height);
Plane resample(const GreyImage& source, std::int64_t width, std::int64_t height);
// A plane for each channel, with the bits that it has on its own.
std::vector<Plane> resample(const PixelView& source, std::int64_t width, std::int64_t height);

}  // namespace weft::data

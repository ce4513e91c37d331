// SPDX-License-Identifier: MIT
// Separable resampling: the weights of one axis are computed once and used for every line.
#include "data/picture/plane.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft::data {
namespace {

// One output sample is the sum over k of weight[k] * input[first + k].
struct Tap {
  std::int64_t first;
  std::vector<float> weights;
};

std::vector<Tap> taps(std::int64_t from, std::int64_t to) {
  std::vector<Tap> result;
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  for (std::int64_t i = 0; i < to; ++i) {
    Tap tap{};
    if (to <= from) {
      const double begin = static_cast<double>(i) * scale, end = begin + scale;
      tap.first = static_cast<std::int64_t>(begin);
      const std::int64_t last = std::min(from, static_cast<std::int64_t>(std::ceil(end)));
      for (std::int64_t j = tap.first; j < last; ++j) {
        const double low = std::max(begin, static_cast<double>(j));
        const double high = std::min(end, static_cast<double>(j + 1));
        tap.weights.push_back(static_cast<float>(std::max(0.0, high - low) / scale));
      }
    } else {
      const double centre = (static_cast<double>(i) + 0.5) * scale - 0.5;
      const double inside = std::clamp(centre, 0.0, static_cast<double>(from - 1));
      tap.first = std::min(static_cast<std::int64_t>(inside), std::max<std::int64_t>(0, from - 2));
      const float part = static_cast<float>(inside - static_cast<double>(tap.first));
      tap.weights = from == 1 ? std::vector<float>{1} : std::vector<float>{1 - part, part};
    }
    result.push_back(std::move(tap));
  }
  return result;
}

// Resamples the rows of a picture of `channels` values a pixel. Its rows are `stride` values apart.
template <class Value>
std::vector<Plane> resample_rows(const Value* source, std::int64_t from_width,
                                 std::int64_t from_height, std::int64_t channels,
                                 std::int64_t stride, std::int64_t width, std::int64_t height) {
  const std::vector<Tap> across = taps(from_width, width), down = taps(from_height, height);
  std::vector<Plane> result(static_cast<std::size_t>(channels), Plane(width, height));
  std::vector<float> line(static_cast<std::size_t>(from_width * channels));
  for (std::int64_t y = 0; y < height; ++y) {
    const Tap& rows = down[static_cast<std::size_t>(y)];
    std::fill(line.begin(), line.end(), 0.0f);
    for (std::size_t k = 0; k < rows.weights.size(); ++k) {
      const Value* values = source + (rows.first + static_cast<std::int64_t>(k)) * stride;
      const float weight = rows.weights[k];
      for (std::size_t x = 0; x < line.size(); ++x) {
        line[x] += weight * static_cast<float>(values[x]);
      }
    }
    for (std::int64_t c = 0; c < channels; ++c) {
      Plane& plane = result[static_cast<std::size_t>(c)];
      for (std::int64_t x = 0; x < width; ++x) {
        const Tap& tap = across[static_cast<std::size_t>(x)];
        const float* at = &line[static_cast<std::size_t>(tap.first * channels + c)];
        float sum = 0;
        for (const float weight : tap.weights) {
          sum += weight * *at;
          at += channels;
        }
        plane.at(x, y) = sum;
      }
    }
  }
  return result;
}

template <class Value>
Plane resample_plane(const std::vector<Value>& values, std::int64_t from_width,
                     std::int64_t from_height, std::int64_t width, std::int64_t height) {
  return std::move(
      resample_rows(values.data(), from_width, from_height, 1, from_width, width, height).front());
}

}  // namespace

Plane resample(const Plane& source, std::int64_t width, std::int64_t height) {
  return resample_plane(source.values, source.width, source.height, width, height);
}

Plane resample(const GreyImage& source, std::int64_t width, std::int64_t height) {
  return resample_plane(source.pixels, source.width, source.height, width, height);
}

std::vector<Plane> resample(const PixelView& source, std::int64_t width, std::int64_t height) {
  return resample_rows(source.values, source.width, source.height, source.channels, source.stride,
                       width, height);
}

}  // namespace weft::data

// SPDX-License-Identifier: MIT
#include "data/ink/colour.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include "data/files/file_io.h"
#include "data/ink/windows.h"
#include "data/picture/plane.h"

namespace weft::data {
namespace {

using Colour = std::array<double, 3>;  // red, green, blue

constexpr Colour kBrightness = {0.299, 0.587, 0.114};  // ITU-R BT.601

double dot(const Colour& a, const Colour& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// The picture in at most 200 x 200 cells, of which each is the mean of 16 of its pixels.
Plane in_cells(const std::vector<std::uint8_t>& values, std::int64_t width, std::int64_t height) {
  constexpr std::int64_t kMost = 200, kEach = 4;
  Plane cells(std::min(kMost, width), std::min(kMost, height));
  for (std::int64_t y = 0; y < cells.height; ++y) {
    for (std::int64_t x = 0; x < cells.width; ++x) {
      float sum = 0;
      for (std::int64_t i = 0; i < kEach * kEach; ++i) {
        const std::int64_t px = (kEach * x + i % kEach) * width / (kEach * cells.width);
        const std::int64_t py = (kEach * y + i / kEach) * height / (kEach * cells.height);
        sum += static_cast<float>(values[static_cast<std::size_t>(py * width + px)]);
      }
      cells.at(x, y) = sum / static_cast<float>(kEach * kEach);
    }
  }
  return cells;
}

// How much each cell differs from the mean of what is around it.
Plane local_difference(const Plane& cells) {
  const std::int64_t window = std::max<std::int64_t>(3, std::min(cells.width, cells.height) / 3);
  return difference(cells, window_mean(cells, window | 1));
}

// The cells that differ most are ink, or ground close beside it.
constexpr double kInk = 0.02;

// Their root mean square.
double contrast_of(const Plane& cells) {
  std::vector<float> squares;
  for (const float value : local_difference(cells).values) squares.push_back(value * value);
  const auto most = std::max<std::size_t>(
      1, static_cast<std::size_t>(kInk * static_cast<double>(squares.size())));
  std::nth_element(squares.begin(), squares.begin() + static_cast<std::ptrdiff_t>(most) - 1,
                   squares.end(), std::greater<>());
  return std::sqrt(
      std::accumulate(squares.begin(), squares.begin() + static_cast<std::ptrdiff_t>(most), 0.0) /
      static_cast<double>(most));
}

// The colours by which cells differ from what is around them, of the cells that do so most.
std::vector<Colour> largest_differences(const std::array<Plane, 3>& channels) {
  const Plane red = local_difference(channels[0]), green = local_difference(channels[1]),
              blue = local_difference(channels[2]);
  std::vector<Colour> all;
  for (std::size_t i = 0; i < red.values.size(); ++i) {
    all.push_back({red.values[i], green.values[i], blue.values[i]});
  }
  const auto most =
      static_cast<std::ptrdiff_t>(std::max(1.0, kInk * static_cast<double>(all.size())));
  std::nth_element(all.begin(), all.begin() + most - 1, all.end(),
                   [](const Colour& a, const Colour& b) { return dot(a, a) > dot(b, b); });
  all.resize(static_cast<std::size_t>(most));
  return all;
}

// The axis along which they differ most, by power iteration. Its parts add up to 1 without their
// signs, so that places along it have a range of 255.
Colour principal_axis(const std::vector<Colour>& differences) {
  Colour axis = differences.front();
  for (int step = 0; step < 20; ++step) {
    Colour next{};
    for (const Colour& colour : differences) {
      const double along = dot(colour, axis);
      for (std::size_t c = 0; c < 3; ++c) next[c] += along * colour[c];
    }
    const double size = std::fabs(next[0]) + std::fabs(next[1]) + std::fabs(next[2]);
    if (!(size > 0)) return kBrightness;
    for (std::size_t c = 0; c < 3; ++c) axis[c] = next[c] / size;
  }
  return axis;
}

double root_mean_square(const std::vector<Colour>& differences, const Colour& axis) {
  double sum = 0;
  for (const Colour& colour : differences) sum += dot(colour, axis) * dot(colour, axis);
  return std::sqrt(sum / static_cast<double>(differences.size()));
}

// The ground is more than the ink, so that the ink differs more from the mean: it becomes dark.
Colour with_dark_ink(Colour axis, const std::array<Plane, 3>& channels) {
  std::vector<double> places;
  for (std::size_t i = 0; i < channels[0].values.size(); ++i) {
    places.push_back(
        dot(axis, {channels[0].values[i], channels[1].values[i], channels[2].values[i]}));
  }
  const double mean =
      std::accumulate(places.begin(), places.end(), 0.0) / static_cast<double>(places.size());
  double skew = 0;
  for (const double place : places) skew += std::pow(place - mean, 3);
  if (skew > 0) {
    for (double& part : axis) part = -part;
  }
  return axis;
}

}  // namespace

GreyImage decode_ink_image(std::span<const std::uint8_t> bytes, const std::string& name,
                           int sample_bits) {
  // Ink with this contrast is found by its brightness, and colours need not be decoded.
  constexpr double kClear = 32;  // grey levels
  constexpr double kMuchMore = 2;
  GreyImage grey = decode_grey_image(bytes, name, sample_bits);
  if (contrast_of(in_cells(grey.pixels, grey.width, grey.height)) >= kClear) return grey;
  const RgbImage picture = decode_rgb_image(bytes, name, sample_bits);
  if (picture.is_grey) return grey;
  const std::array<Plane, 3> channels = {in_cells(picture.red, picture.width, picture.height),
                                         in_cells(picture.green, picture.width, picture.height),
                                         in_cells(picture.blue, picture.width, picture.height)};
  const std::vector<Colour> differences = largest_differences(channels);
  Colour axis = principal_axis(differences);
  if (root_mean_square(differences, axis) <
      kMuchMore * root_mean_square(differences, kBrightness)) {
    return grey;
  }
  axis = with_dark_ink(axis, channels);
  double least = 0;  // the place of the darkest colour
  for (const double part : axis) least += std::min(0.0, 255 * part);
  for (std::size_t i = 0; i < grey.pixels.size(); ++i) {
    const double place =
        axis[0] * picture.red[i] + axis[1] * picture.green[i] + axis[2] * picture.blue[i] - least;
    grey.pixels[i] = static_cast<std::uint8_t>(std::clamp(place, 0.0, 255.0) + 0.5);
  }
  return grey;
}

GreyImage load_ink_image(const std::filesystem::path& path, int sample_bits) {
  return decode_ink_image(read_file(path, kMaxImageFileBytes), path.string(), sample_bits);
}

}  // namespace weft::data

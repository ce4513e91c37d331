// SPDX-License-Identifier: MIT
// Preprocessing of pictures for prediction.
#include "data/preprocess.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "data/ink.h"
#include "data/nearest_name.h"
#include "engine/error.h"

namespace weft::data {
namespace {

constexpr std::int64_t kSide = 28, kBox = 20;
constexpr std::int64_t kWorkingSide = 640;  // larger photos are shrunk to this before the search

Plane to_plane(const GreyImage& image) {
  Plane plane(image.width, image.height);
  std::copy(image.pixels.begin(), image.pixels.end(), plane.values.begin());
  const std::int64_t longest = std::max(image.width, image.height);
  if (longest <= kWorkingSide) return plane;
  const auto shrunk = [&](std::int64_t side) {
    return std::max<std::int64_t>(1, side * kWorkingSide / longest);
  };
  return resample(plane, shrunk(image.width), shrunk(image.height));
}

void invert_values(Plane& plane) {
  for (float& value : plane.values) value = 255 - value;
}

std::vector<std::uint8_t> to_bytes(const Plane& plane) {
  std::vector<std::uint8_t> bytes(plane.values.size());
  std::transform(plane.values.begin(), plane.values.end(), bytes.begin(), [](float value) {
    return static_cast<std::uint8_t>(std::clamp(value, 0.0f, 255.0f) + 0.5f);
  });
  return bytes;
}

// Scales so that the longer side becomes `longest`, the other one in proportion.
Plane scale_longest_to(const Plane& plane, std::int64_t longest) {
  const std::int64_t now = std::max(plane.width, plane.height);
  const auto scaled = [&](std::int64_t side) {
    return std::max<std::int64_t>(1, (side * longest + now / 2) / now);
  };
  return resample(plane, scaled(plane.width), scaled(plane.height));
}

Plane crop_to_ink(const Plane& ink) {
  std::int64_t left = ink.width, right = -1, top = ink.height, bottom = -1;
  for (std::int64_t y = 0; y < ink.height; ++y) {
    for (std::int64_t x = 0; x < ink.width; ++x) {
      if (ink.at(x, y) <= 0) continue;
      left = std::min(left, x);
      right = std::max(right, x);
      top = std::min(top, y);
      bottom = std::max(bottom, y);
    }
  }
  Plane crop(right - left + 1, bottom - top + 1);
  for (std::int64_t y = 0; y < crop.height; ++y) {
    for (std::int64_t x = 0; x < crop.width; ++x) crop.at(x, y) = ink.at(left + x, top + y);
  }
  return crop;
}

// Puts `source` on a 28 x 28 ground of `level`, its first pixel at (left, top).
Plane put_on_ground(const Plane& source, std::int64_t left, std::int64_t top, float level) {
  Plane result(kSide, kSide, level);
  for (std::int64_t y = 0; y < source.height; ++y) {
    for (std::int64_t x = 0; x < source.width; ++x) result.at(left + x, top + y) = source.at(x, y);
  }
  return result;
}

Plane place_like_mnist(Plane digit) {
  // Hair lines fade when they shrink; bring the strokes back to full ink.
  const float top = *std::max_element(digit.values.begin(), digit.values.end());
  if (top < 250) {
    for (float& value : digit.values) value *= 255 / top;
  }
  double mass = 0, sum_x = 0, sum_y = 0;
  for (std::int64_t y = 0; y < digit.height; ++y) {
    for (std::int64_t x = 0; x < digit.width; ++x) {
      const double ink = digit.at(x, y);
      mass += ink;
      sum_x += ink * static_cast<double>(x);
      sum_y += ink * static_cast<double>(y);
    }
  }
  // Whole pixels, as MNIST: the centre of mass comes within half a pixel of (14, 14).
  const auto offset = [&](double sum, std::int64_t side) {
    const double centred = std::floor(static_cast<double>(kSide) / 2 - sum / mass + 0.5);
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(centred), 0, kSide - side);
  };
  return put_on_ground(digit, offset(sum_x, digit.width), offset(sum_y, digit.height), 0);
}

}  // namespace

Preprocess parse_preprocess(std::string_view text) {
  constexpr std::array<std::string_view, 3> kNames = {"mnist", "resize", "none"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (text == kNames[i]) return static_cast<Preprocess>(i);
  }
  const std::string nearest = nearest_name(text, kNames);
  throw Error(ErrorKind::usage, str("preprocess: expected mnist, resize or none, found '", text,
                                    "'", nearest.empty() ? "" : "; did you mean " + nearest + "?"));
}

Invert parse_invert(std::string_view text) {
  if (text == "auto") return Invert::automatic;
  if (text == "yes") return Invert::yes;
  if (text == "no") return Invert::no;
  throw Error(ErrorKind::usage, str("invert: expected auto, yes or no, found '", text, "'"));
}

PreparedImage prepare_image(const GreyImage& image, Preprocess preprocess, Invert invert,
                            const std::string& name) {
  if (image.width < 1 || image.height < 1 ||
      static_cast<std::int64_t>(image.pixels.size()) != image.width * image.height) {
    throw Error(ErrorKind::usage, str(name, ": ", image.pixels.size(), " pixels for ", image.width,
                                      " x ", image.height));
  }
  PreparedImage result;
  result.inverted = invert == Invert::yes;
  if (preprocess == Preprocess::none) {
    if (image.width != kSide || image.height != kSide) {
      throw Error(ErrorKind::data, str(name, ": without preprocessing a picture must be 28 x 28, ",
                                       "found ", image.width, " x ", image.height));
    }
    result.pixels = image.pixels;
    if (result.inverted) {
      for (std::uint8_t& pixel : result.pixels) pixel = static_cast<std::uint8_t>(255 - pixel);
    }
    return result;
  }
  Plane plane = to_plane(image);
  if (invert == Invert::automatic) result.inverted = is_dark_on_light(plane);
  if (result.inverted) invert_values(plane);
  if (preprocess == Preprocess::resize) {
    const float ground = border_level(plane);
    const Plane scaled = scale_longest_to(plane, kSide);
    result.pixels = to_bytes(
        put_on_ground(scaled, (kSide - scaled.width) / 2, (kSide - scaled.height) / 2, ground));
    return result;
  }
  const Plane ink = extract_ink(plane);
  if (ink.values.empty()) {
    throw Error(ErrorKind::data, str(name, ": no ink/contrast to find a digit in"));
  }
  result.pixels = to_bytes(place_like_mnist(scale_longest_to(crop_to_ink(ink), kBox)));
  return result;
}

}  // namespace weft::data

// SPDX-License-Identifier: MIT
#include "data/fit.h"

#include <algorithm>
#include <cmath>

#include "data/plane.h"
#include "engine/error.h"
#include "engine/names.h"

namespace weft::data {
namespace {

constexpr Named<Fit> kFits[] = {
    {"letterbox", Fit::letterbox}, {"crop", Fit::crop}, {"stretch", Fit::stretch}};

struct Box {
  std::int64_t left, top, width, height;
};

// The largest box in the middle of `width` x `height` that is as wide to its height as
// `like_width` to `like_height`, to the nearest pixel.
Box middle_box(std::int64_t width, std::int64_t height, std::int64_t like_width,
               std::int64_t like_height) {
  const auto side = [](std::int64_t other, std::int64_t part, std::int64_t whole) {
    return std::max<std::int64_t>(1, (2 * other * part + whole) / (2 * whole));
  };
  const std::int64_t w = std::min(width, side(height, like_width, like_height));
  const std::int64_t h = std::min(height, side(width, like_height, like_width));
  return {(width - w) / 2, (height - h) / 2, w, h};
}

std::vector<std::uint8_t> scaled(const std::vector<std::uint8_t>& plane, std::int64_t plane_width,
                                 const Box& from, std::int64_t width, std::int64_t height) {
  GreyImage part{from.width, from.height, {}};
  for (std::int64_t y = from.top; y < from.top + from.height; ++y) {
    const auto row = plane.begin() + y * plane_width + from.left;
    part.pixels.insert(part.pixels.end(), row, row + from.width);
  }
  const Plane resampled = resample(part, width, height);
  std::vector<std::uint8_t> bytes;
  for (const float value : resampled.values) {
    bytes.push_back(static_cast<std::uint8_t>(std::clamp(value, 0.0f, 255.0f) + 0.5f));
  }
  return bytes;
}

}  // namespace

Fit parse_fit(std::string_view text) {
  return row_named(kFits, "fit", text).value;
}

std::string_view name_of(Fit fit) {
  return name_in(kFits, fit);
}

RgbImage fit_image(const RgbImage& image, std::int64_t height, std::int64_t width, Fit fit) {
  if (height < 1 || width < 1 || image.height < 1 || image.width < 1) {
    throw Error(ErrorKind::usage, str("a picture of ", image.width, " x ", image.height,
                                      " cannot be made ", width, " x ", height));
  }
  const bool crops = fit == Fit::crop, pads = fit == Fit::letterbox;
  const Box from = crops ? middle_box(image.width, image.height, width, height)
                         : Box{0, 0, image.width, image.height};
  const Box to =
      pads ? middle_box(width, height, image.width, image.height) : Box{0, 0, width, height};
  const auto fitted = [&](const std::vector<std::uint8_t>& plane) {
    if (std::ssize(plane) != image.width * image.height) {
      throw Error(ErrorKind::usage, str("a plane of ", plane.size(), " pixels in a picture of ",
                                        image.width, " x ", image.height));
    }
    const std::vector<std::uint8_t> inner = scaled(plane, image.width, from, to.width, to.height);
    std::vector<std::uint8_t> result(static_cast<std::size_t>(width * height));
    for (std::int64_t y = 0; y < to.height; ++y) {
      std::copy_n(inner.begin() + y * to.width, to.width,
                  result.begin() + (to.top + y) * width + to.left);
    }
    return result;
  };
  RgbImage result{width, height, image.is_grey, {}, {}, {}, fitted(image.grey)};
  if (!image.is_grey) {
    result.red = fitted(image.red);
    result.green = fitted(image.green);
    result.blue = fitted(image.blue);
  }
  return result;
}

std::vector<std::uint8_t> planes_of(const RgbImage& image, std::int64_t channels) {
  if (channels == 1) return image.grey;
  if (channels != 3) {
    throw Error(ErrorKind::usage, str("a picture has 1 or 3 channels, not ", channels));
  }
  std::vector<std::uint8_t> planes;
  for (const auto* plane : {&image.red, &image.green, &image.blue}) {
    const auto& values = image.is_grey ? image.grey : *plane;
    planes.insert(planes.end(), values.begin(), values.end());
  }
  return planes;
}

}  // namespace weft::data

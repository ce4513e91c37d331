// SPDX-License-Identifier: MIT
#include "data/picture/fit.h"

#include <algorithm>
#include <cmath>

#include "data/picture/picture.h"
#include "data/picture/plane.h"
#include "engine/error.h"

namespace weft::data {
namespace {

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

// The channels of a part of a picture, one plane after the other, as (height, width) each.
std::vector<std::uint8_t> fitted_planes(const PixelView& picture, std::int64_t height,
                                        std::int64_t width, Fit fit) {
  const bool crops = fit == Fit::crop, pads = fit == Fit::letterbox;
  const Box from = crops ? middle_box(picture.width, picture.height, width, height)
                         : Box{0, 0, picture.width, picture.height};
  const Box to =
      pads ? middle_box(width, height, picture.width, picture.height) : Box{0, 0, width, height};
  const PixelView part{picture.values + from.top * picture.stride + from.left * picture.channels,
                       from.width, from.height, picture.channels, picture.stride};
  std::vector<std::uint8_t> result(static_cast<std::size_t>(picture.channels * width * height));
  auto plane = result.begin();
  for (const Plane& values : resample(part, to.width, to.height)) {
    for (std::int64_t y = 0; y < to.height; ++y) {
      for (std::int64_t x = 0; x < to.width; ++x) {
        plane[(to.top + y) * width + to.left + x] =
            static_cast<std::uint8_t>(std::clamp(values.at(x, y), 0.0f, 255.0f) + 0.5f);
      }
    }
    plane += width * height;
  }
  return result;
}

void check_sizes(std::int64_t from_width, std::int64_t from_height, std::int64_t height,
                 std::int64_t width) {
  if (height >= 1 && width >= 1 && from_height >= 1 && from_width >= 1) return;
  throw Error(ErrorKind::usage, str("a picture of ", from_width, " x ", from_height,
                                    " cannot be made ", width, " x ", height));
}

bool has_colour(const RgbImage& image) {
  return !image.is_grey && (image.red != image.green || image.green != image.blue);
}

bool has_colour(const Picture& picture) {  // of 3 channels
  const std::uint8_t* rgb = picture.pixels.get();
  for (std::int64_t left = picture.width * picture.height; left > 0; --left, rgb += 3) {
    if (rgb[0] != rgb[1] || rgb[1] != rgb[2]) return true;
  }
  return false;
}

}  // namespace

Fit parse_fit(std::string_view text) {
  return row_named(kFits, "fit", text).value;
}

std::string_view name_of(Fit fit) {
  return name_in(kFits, fit);
}

RgbImage fit_image(const RgbImage& image, std::int64_t height, std::int64_t width, Fit fit) {
  check_sizes(image.width, image.height, height, width);
  const auto fitted = [&](const std::vector<std::uint8_t>& plane) {
    if (std::ssize(plane) != image.width * image.height) {
      throw Error(ErrorKind::usage, str("a plane of ", plane.size(), " pixels in a picture of ",
                                        image.width, " x ", image.height));
    }
    return fitted_planes({plane.data(), image.width, image.height, 1, image.width}, height, width,
                         fit);
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

FittedFile decode_fitted(std::span<const std::uint8_t> bytes, const std::string& name,
                         std::int64_t channels, std::int64_t height, std::int64_t width, Fit fit,
                         int sample_bits) {
  const Picture picture = decode_picture(bytes, name, sample_bits);
  FittedFile result{picture.width, picture.height, false, {}, picture.depth};
  if (picture.channels == 3 && channels == 3) {
    check_sizes(picture.width, picture.height, height, width);
    result.has_colour = has_colour(picture);
    result.planes =
        fitted_planes({picture.pixels.get(), picture.width, picture.height, 3, 3 * picture.width},
                      height, width, fit);
    return result;
  }
  RgbImage image = rgb_image_of(picture);
  result.has_colour = has_colour(image);
  image.is_grey = image.is_grey || channels == 1;  // then its colours are not fitted
  result.planes = planes_of(fit_image(image, height, width, fit), channels);
  return result;
}

}  // namespace weft::data

// SPDX-License-Identifier: MIT
// Any bytes are a picture or one line of Error{data}, and the same of the two every time.
#include <optional>

#include "data/picture/image.h"
#include "tests/fuzz/fuzz.h"

namespace {

using weft::data::GreyImage;
using weft::data::RgbImage;
using weft::fuzz::require;

std::optional<RgbImage> decode(std::span<const std::uint8_t> bytes) {
  const weft::fuzz::TimeLimit limit(2);
  std::optional<GreyImage> grey;  // JPEG has a way of its own to grey
  try {
    grey = weft::data::decode_grey_image(bytes, "fuzz");
  } catch (const weft::Error&) {
  }
  try {
    RgbImage image = weft::data::decode_rgb_image(bytes, "fuzz");
    require(grey && grey->width == image.width && grey->height == image.height &&
                grey->pixels.size() == image.grey.size(),
            "a picture that cannot be read in grey");
    return image;
  } catch (const weft::Error& error) {
    require(!grey, "a picture that can be read in grey only");
    weft::fuzz::require_data_error(error, "fuzz: ");
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::optional<RgbImage> first = decode({bytes, size});
  if (!first) return 0;
  const std::optional<RgbImage> again = decode({bytes, size});
  require(again.has_value(), "refused the second time");
  const auto pixels = static_cast<std::size_t>(first->width * first->height);
  require(pixels > 0 && first->grey.size() == pixels, "not as many pixels as it says");
  require(first->grey == again->grey && first->red == again->red && first->green == again->green &&
              first->blue == again->blue,
          "pixels that differ from one time to the next");
  return 0;
}

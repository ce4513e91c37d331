// SPDX-License-Identifier: MIT
#include "data/picture/exif.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace weft::data {

int exif_orientation(std::span<const std::uint8_t> tiff) {
  constexpr std::uint32_t kMagic = 42, kOrientation = 0x0112, kShort = 3;
  constexpr std::size_t kEntryBytes = 12;
  if (tiff.size() < 8 || tiff[0] != tiff[1] || (tiff[0] != 'I' && tiff[0] != 'M')) return 1;
  const auto number = [&](std::size_t at, std::size_t bytes) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      value = value << 8 | tiff[tiff[0] == 'M' ? at + i : at + bytes - 1 - i];
    }
    return value;
  };
  const std::size_t directory = number(4, 4);
  if (number(2, 2) != kMagic || directory > tiff.size() - 2) return 1;
  const std::size_t entries = number(directory, 2);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t at = directory + 2 + i * kEntryBytes;
    if (at + kEntryBytes > tiff.size()) return 1;
    if (number(at, 2) != kOrientation) continue;
    const std::uint32_t value = number(at + 8, 2);
    const bool is_known = number(at + 2, 2) == kShort && value >= 1 && value <= 8;
    return is_known ? static_cast<int>(value) : 1;
  }
  return 1;
}

std::span<const std::uint8_t> exif_of_app1(std::span<const std::uint8_t> content) {
  constexpr std::string_view kBegin{"Exif\0\0", 6};
  const bool is_exif = content.size() >= kBegin.size() &&
                       std::memcmp(content.data(), kBegin.data(), kBegin.size()) == 0;
  return is_exif ? content.subspan(kBegin.size()) : std::span<const std::uint8_t>();
}

Picture upright(Picture picture, int orientation, const std::string& name) {
  if (orientation == 1) return picture;
  // Orientations 5 to 8 exchange rows and columns. Then 2, 3, 6 and 7 mirror from left to right, 3,
  // 4, 7 and 8 from top to bottom.
  const bool is_transposed = orientation >= 5;
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  const bool from_bottom =
      orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  const std::int64_t width = is_transposed ? picture.height : picture.width;
  const std::int64_t height = is_transposed ? picture.width : picture.height;
  Picture result = make_picture(width, height, picture.channels, name);
  result.depth = picture.depth;
  result.reduction = picture.reduction;
  std::uint8_t* out = result.pixels.get();
  for (std::int64_t y = 0; y < height; ++y) {
    const std::int64_t v = from_bottom ? height - 1 - y : y;
    for (std::int64_t x = 0; x < width; ++x, out += picture.channels) {
      const std::int64_t u = from_right ? width - 1 - x : x;
      const std::int64_t source = is_transposed ? u * picture.width + v : v * picture.width + u;
      std::copy_n(picture.pixels.get() + source * picture.channels, picture.channels, out);
    }
  }
  return result;
}

}  // namespace weft::data

// SPDX-License-Identifier: MIT
// Binary PNM: P5 (grey) and P6 (RGB) with 8 or 16 bits per sample.
#include <algorithm>

#include "data/picture/picture.h"

namespace weft::data {
namespace {

bool is_space(int c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// Reads a whole number of the header and the one space after it. Space and comments may precede it.
std::int64_t header_number(ByteCursor& header, const std::string& name) {
  constexpr std::int64_t kLargest = 1'000'000'000;
  int c = header.byte();
  while (is_space(c) || c == '#') {
    if (c == '#') {
      while (c != '\n' && c != '\r') c = header.byte();
    }
    c = header.byte();
  }
  std::int64_t value = 0;
  bool is_number = false;
  for (; c >= '0' && c <= '9'; c = header.byte()) {
    value = std::min(10 * value + (c - '0'), kLargest);
    is_number = true;
  }
  if (!is_number || !is_space(c)) throw damaged_picture(name, "a number is missing in its header");
  return value;
}

}  // namespace

Picture decode_pnm(std::span<const std::uint8_t> file, const std::string& name) {
  ByteCursor cursor(file, name, "the PNM header");
  const int channels = cursor.take(2)[1] == '6' ? 3 : 1;
  const std::int64_t width = header_number(cursor, name), height = header_number(cursor, name);
  check_dimensions(width, height, name);
  const std::int64_t largest = header_number(cursor, name);
  if (largest < 1 || largest > 65535) {
    throw damaged_picture(name, str("the largest sample is ", largest, ", expected 1 to 65535"));
  }
  const std::size_t samples = static_cast<std::size_t>(width * height * channels);
  const std::size_t sample_bytes = largest > 255 ? 2 : 1;
  if (cursor.left() < samples * sample_bytes) {
    throw damaged_picture(name, str(width, " x ", height, " pixels need ", samples * sample_bytes,
                                    " bytes, found ", cursor.left()));
  }
  const std::span<const std::uint8_t> raw = cursor.take(samples * sample_bytes);
  Picture picture = make_picture(width, height, channels, name);
  for (std::size_t i = 0; i < samples; ++i) {
    const int value = sample_bytes == 1 ? raw[i] : raw[2 * i] << 8 | raw[2 * i + 1];
    if (value > largest) {
      throw damaged_picture(name, str("a sample is ", value, ", expected at most ", largest));
    }
    picture.pixels[i] = static_cast<std::uint8_t>((value * 255 + largest / 2) / largest);
  }
  return picture;
}

}  // namespace weft::data

// SPDX-License-Identifier: MIT
// Folders of small pictures for tests.
#pragma once

#include <array>

#include "data/picture/image.h"
#include "tests/data/files.h"

namespace weft::test {

using Rgb = std::array<std::uint8_t, 3>;

// A PNG of one colour; a grey one has one channel.
inline void write_flat_png(const std::filesystem::path& path, Rgb colour, std::int64_t width = 4,
                           std::int64_t height = 4) {
  std::filesystem::create_directories(path.parent_path());
  const bool grey = colour[0] == colour[1] && colour[1] == colour[2];
  Bytes pixels;
  for (std::int64_t i = 0; i < width * height; ++i) {
    pixels.insert(pixels.end(), colour.begin(), colour.begin() + (grey ? 1 : 3));
  }
  data::write_png(path, pixels, width, height, grey ? 1 : 3);
}

// `count` pictures of the class, 0.png to (count - 1).png, of slowly changing brightness.
inline void write_class(const std::filesystem::path& folder, int count, std::uint8_t first = 0,
                        std::int64_t width = 4, std::int64_t height = 4) {
  for (int i = 0; i < count; ++i) {
    const auto level = static_cast<std::uint8_t>(first + i);
    write_flat_png(folder / (std::to_string(i) + ".png"), {level, level, level}, width, height);
  }
}

}  // namespace weft::test

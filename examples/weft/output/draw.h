// SPDX-License-Identifier: MIT
// Images drawn in a terminal: two pixels per character cell with half blocks, in exact colours when
// the terminal has them, in the nearest of 256 or in ASCII shades elsewhere.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "examples/weft/output/terminal.h"

namespace weft::cli {

struct Picture {
  std::span<const std::uint8_t> pixels;  // (channels, height, width); in grey 255 is ink
  int height = 0, width = 0;
  std::string caption;  // below the picture, cut to its width
  int channels = 1;     // 1 grey; 3 red, green, blue
};

std::string draw_picture(const Picture& picture, const Terminal& terminal);

// As many pictures of one size as fit the terminal's width in one row, at most `rows` rows,
// in grey cropped to the box
// that holds the ink of all of them.
std::string draw_side_by_side(const std::vector<Picture>& pictures, int rows,
                              const Terminal& terminal);

}  // namespace weft::cli

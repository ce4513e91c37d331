// SPDX-License-Identifier: MIT
#include "examples/weft/output/draw.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/extent.h"

namespace weft::cli {
namespace {

constexpr int kInk = 32;  // bytes above this count as ink when a picture is cropped

struct Box {
  int top = 0, left = 0, bottom = 0, right = 0;  // bottom and right are one past the end
  int rows() const { return bottom - top; }
  int columns() const { return right - left; }
};

int pixel(const Picture& picture, int channel, int row, int column) {
  if (row >= picture.height || column >= picture.width) return 0;
  const int line = channel * picture.height + row;
  return picture.pixels[static_cast<std::size_t>(line) * static_cast<std::size_t>(picture.width) +
                        static_cast<std::size_t>(column)];
}

struct Colour {
  int red = 0, green = 0, blue = 0;

  bool is_grey() const { return red == green && green == blue; }
  int brightness() const { return (299 * red + 587 * green + 114 * blue) / 1000; }
};

// The mean of step x step pixels, so that a picture wider than the terminal still fits.
Colour shade(const Picture& picture, int row, int column, int step) {
  const auto mean = [&](int channel) {
    int sum = 0;
    for (int i = 0; i < step; ++i) {
      for (int j = 0; j < step; ++j) sum += pixel(picture, channel, row + i, column + j);
    }
    return sum / (step * step);
  };
  const int first = mean(0);
  return picture.channels == 3 ? Colour{first, mean(1), mean(2)} : Colour{first, first, first};
}

std::string colour_code(const Terminal& terminal, bool background, const Colour& colour) {
  const int base = background ? 48 : 38;
  if (terminal.truecolour) {
    return fmt::format("{};2;{};{};{}", base, colour.red, colour.green, colour.blue);
  }
  if (!colour.is_grey()) {  // 16 to 231 are a cube of six levels: 0, 95, 135, 175, 215, 255
    const auto level = [](int value) {
      return value < 48 ? 0 : value < 115 ? 1 : (value - 35) / 40;
    };
    return fmt::format("{};5;{}", base,
                       16 + 36 * level(colour.red) + 6 * level(colour.green) + level(colour.blue));
  }
  const int grey = colour.red;
  // The palette has black at 16, 24 greys from 232 to 255, and white at 231.
  const int step = (grey + 5) / 10;
  return fmt::format("{};5;{}", base, step == 0 ? 16 : step > 24 ? 231 : 231 + step);
}

bool shows_half_blocks(const Terminal& terminal) {
  return terminal.colour && terminal.unicode;
}

std::string draw_line(const Picture& picture, int row, const Box& box, int step,
                      const Terminal& terminal) {
  constexpr std::string_view kShades = " .:-=+*#%@";
  std::string line, last;
  for (int column = box.left; column < box.right; column += step) {
    const Colour upper = shade(picture, row, column, step);
    const Colour lower =
        row + step < box.bottom ? shade(picture, row + step, column, step) : Colour{};
    if (!shows_half_blocks(terminal)) {
      const int mean = (upper.brightness() + lower.brightness()) / 2;
      line += kShades[static_cast<std::size_t>(mean) * (kShades.size() - 1) / 255];
      continue;
    }
    std::string code =
        colour_code(terminal, false, upper) + ";" + colour_code(terminal, true, lower);
    if (code != last) line += "\033[" + code + "m";
    last = std::move(code);
    line += "▀";
  }
  return shows_half_blocks(terminal) ? line + "\033[0m" : line;
}

Box ink_box(const std::vector<Picture>& pictures) {
  const int height = pictures.front().height, width = pictures.front().width;
  if (pictures.front().channels != 1) return {0, 0, height, width};
  Box box{height, width, 0, 0};
  for (const Picture& picture : pictures) {
    for (int row = 0; row < height; ++row) {
      for (int column = 0; column < width; ++column) {
        if (pixel(picture, 0, row, column) <= kInk) continue;
        box = {std::min(box.top, row), std::min(box.left, column), std::max(box.bottom, row + 1),
               std::max(box.right, column + 1)};
      }
    }
  }
  if (box.rows() <= 0) return {0, 0, height, width};
  box.top = std::max(0, box.top - 1);
  box.left = std::max(0, box.left - 1);
  box.bottom = std::min(height, box.bottom + 1);
  box.right = std::min(width, box.right + 1);
  return box;
}

std::string fitted(const std::string& text, int width) {
  std::string out;
  int used = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80 && used++ == width) break;
    out += c;
  }
  out.append(static_cast<std::size_t>(std::max(0, width - display_width(out))), ' ');
  return out;
}

}  // namespace

std::string draw_picture(const Picture& picture, const Terminal& terminal) {
  // Half blocks need a terminal that shows them; a frame keeps ASCII shades readable.
  const bool framed = !shows_half_blocks(terminal);
  const Box box{0, 0, picture.height, picture.width};
  const int step = (picture.width + terminal.width - 3) / (terminal.width - 2);
  const int cells = divide_up(picture.width, step);
  const std::string rule = fmt::format("+{:-<{}}+\n", "", cells);
  std::string text = framed ? rule : "";
  for (int row = 0; row < picture.height; row += 2 * step) {
    const std::string line = draw_line(picture, row, box, step, terminal);
    text += framed ? "|" + line + "|\n" : line + "\n";
  }
  if (framed) text += rule;
  if (!picture.caption.empty()) text += printable(picture.caption) + "\n";
  return text;
}

std::string draw_side_by_side(const std::vector<Picture>& pictures, int rows,
                              const Terminal& terminal) {
  if (pictures.empty()) return "";
  constexpr int kGap = 2;
  const Box box = ink_box(pictures);
  const int step = divide_up(box.columns(), terminal.width);
  const int width = divide_up(box.columns(), step);
  const std::size_t per_row =
      static_cast<std::size_t>(std::max(1, (terminal.width - 1 + kGap) / (width + kGap)));
  const std::string gap(kGap, ' ');
  std::string text;
  for (std::size_t first = 0; first < pictures.size() && rows > 0; first += per_row, --rows) {
    const std::size_t last = std::min(pictures.size(), first + per_row);
    for (int row = box.top; row < box.bottom; row += 2 * step) {
      for (std::size_t i = first; i < last; ++i) {
        text += (i == first ? "" : gap) + draw_line(pictures[i], row, box, step, terminal);
      }
      text += "\n";
    }
    for (std::size_t i = first; i < last; ++i) {
      text += (i == first ? "" : gap) + fitted(printable(pictures[i].caption), width);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
    if (last < pictures.size() && rows > 1) text += "\n";
  }
  return text;
}

}  // namespace weft::cli

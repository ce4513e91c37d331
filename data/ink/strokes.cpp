// SPDX-License-Identifier: MIT
#include "data/ink/strokes.h"

#include <algorithm>
#include <cmath>

namespace weft::data {
namespace {

// The width of a stroke is twice its area by the length of its outline.
struct Outline {
  double width = 0;     // mean width of the stroke
  double softness = 0;  // how wide the edge is from weak to certain ink
};

Outline outline_of(const Piece& piece, const Plane& ink, float certain) {
  double length = 0;
  for (const std::size_t at : piece.pixels) {
    if (ink.values[at] <= certain) continue;
    const auto i = static_cast<std::int64_t>(at);
    const std::int64_t x = i % ink.width, y = i / ink.width;
    const bool is_edge = x == 0 || y == 0 || x == ink.width - 1 || y == ink.height - 1 ||
                         ink.at(x - 1, y) <= certain || ink.at(x + 1, y) <= certain ||
                         ink.at(x, y - 1) <= certain || ink.at(x, y + 1) <= certain;
    length += is_edge ? 1 : 0;
  }
  if (length == 0) return {};
  return {2 * piece.mass / length,
          (static_cast<double>(piece.pixels.size()) - piece.mass) / length};
}

double size_of(const Piece& piece) {
  return static_cast<double>(std::max(piece.box.width, piece.box.height));
}

// The value that halves the weight of those below and above it.
double weighted_median(std::vector<std::pair<double, double>> values) {
  std::sort(values.begin(), values.end());
  double all = 0, below = 0;
  for (const auto& [value, weight] : values) all += weight;
  for (const auto& [value, weight] : values) {
    below += weight;
    if (2 * below >= all) return value;
  }
  return 0;
}

}  // namespace

Pen pen_of(const std::vector<Piece>& pieces, const Plane& ink, float certain) {
  constexpr double kWidest = 0.4;   // of a stroke by the size of its mark
  constexpr double kSoftest = 0.6;  // of an edge by the width of the stroke
  constexpr double kSharp = 2.5;    // pixels; an edge that is no wider is never soft
  const double side = static_cast<double>(std::min(ink.width, ink.height));
  const double least = std::max(6.0, 0.01 * side);
  struct Drawn {
    const Piece* piece;
    double width;
  };
  std::vector<Drawn> drawn;
  for (const Piece& piece : pieces) {
    if (piece.is_surround || size_of(piece) < least) continue;
    const Outline outline = outline_of(piece, ink, certain);
    const bool is_soft = outline.softness > std::max(kSharp, kSoftest * outline.width);
    if (outline.width <= kWidest * size_of(piece) && !is_soft) {
      drawn.push_back({&piece, outline.width});
    }
  }
  if (drawn.empty()) return {};
  std::vector<std::pair<double, double>> heights, masses;
  for (const Drawn& mark : drawn) {
    heights.emplace_back(static_cast<double>(mark.piece->box.height), mark.piece->mass);
    masses.emplace_back(mark.piece->mass, mark.piece->mass);
  }
  Pen pen{0, weighted_median(std::move(heights)), weighted_median(std::move(masses))};
  for (const Drawn& mark : drawn) {
    if (mark.piece->mass >= 0.2 * pen.mass) pen.width = std::max(pen.width, mark.width);
  }
  return pen;
}

Plane with_even_ink(Plane ink) {
  constexpr float kGain = 2;
  for (float& value : ink.values) value = std::min(255.0f, kGain * value);
  return ink;
}

double stroke_width(const Plane& ink) {
  constexpr float kInk = 127;
  double mass = 0, outline = 0;
  const auto is_ink = [&](std::int64_t x, std::int64_t y) {
    return x >= 0 && y >= 0 && x < ink.width && y < ink.height && ink.at(x, y) > kInk;
  };
  for (std::int64_t y = 0; y < ink.height; ++y) {
    for (std::int64_t x = 0; x < ink.width; ++x) {
      if (ink.at(x, y) <= kInk) continue;
      ++mass;
      const bool is_inside =
          is_ink(x - 1, y) && is_ink(x + 1, y) && is_ink(x, y - 1) && is_ink(x, y + 1);
      outline += is_inside ? 0 : 1;
    }
  }
  return outline > 0 ? 2 * mass / outline : 0;
}

namespace {

// Cells of 0 that no path of such cells connects with the first, which is outside.
std::int64_t enclosed_cells(std::vector<std::uint8_t> cells, std::int64_t width) {
  const auto height = std::ssize(cells) / width;
  std::vector<std::int64_t> open{0};
  cells[0] = 2;
  while (!open.empty()) {
    const std::int64_t at = open.back(), x = at % width, y = at / width;
    open.pop_back();
    const auto visit = [&](std::int64_t nx, std::int64_t ny) {
      if (nx < 0 || ny < 0 || nx >= width || ny >= height) return;
      std::uint8_t& cell = cells[static_cast<std::size_t>(ny * width + nx)];
      if (cell != 0) return;
      cell = 2;
      open.push_back(ny * width + nx);
    };
    visit(x - 1, y);
    visit(x + 1, y);
    visit(x, y - 1);
    visit(x, y + 1);
  }
  return std::count(cells.begin(), cells.end(), std::uint8_t{0});
}

}  // namespace

std::int64_t enclosed_pixels(const Plane& ink) {
  constexpr float kInk = 127;
  const std::int64_t width = ink.width + 2, height = ink.height + 2;
  std::vector<std::uint8_t> cells(static_cast<std::size_t>(width * height));
  for (std::int64_t y = 0; y < ink.height; ++y) {
    for (std::int64_t x = 0; x < ink.width; ++x) {
      cells[static_cast<std::size_t>((y + 1) * width + x + 1)] = ink.at(x, y) > kInk ? 1 : 0;
    }
  }
  return enclosed_cells(std::move(cells), width);
}

bool is_ring(const Piece& piece, const Plane& ink) {
  // The ground that is connected with the outside, in the mark's box with a pixel around it.
  const std::int64_t width = piece.box.width + 2, height = piece.box.height + 2;
  if (width < 5 || height < 5) return false;
  std::vector<std::uint8_t> cells(static_cast<std::size_t>(width * height));
  for (const std::size_t at : piece.pixels) {
    const std::int64_t x = static_cast<std::int64_t>(at) % ink.width - piece.box.left + 1;
    const std::int64_t y = static_cast<std::int64_t>(at) / ink.width - piece.box.top + 1;
    if (x > 0 && y > 0 && x < width - 1 && y < height - 1) {
      cells[static_cast<std::size_t>(y * width + x)] = 1;
    }
  }
  constexpr double kLeastHole = 0.05;  // of the box
  const std::int64_t holes = enclosed_cells(std::move(cells), width);
  return static_cast<double>(holes) >= kLeastHole * static_cast<double>(width * height);
}

}  // namespace weft::data

// SPDX-License-Identifier: MIT
// A drawing of filled areas, lines and text that becomes an SVG or a PNG: the same shapes in both.
//
// The ground and the neutral colours of the SVG follow the reader's colour scheme; the PNG is on
// white.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "data/files/gzip.h"
#include "data/hard/stroke_font.h"

namespace weft::cli {

enum class Ink { title, label, axis, grid, bar, red, green, blue, neutral };
enum class Anchor { start, middle, end };

using Point = data::PenPoint;  // pixels at scale 1, y down

struct Area {
  std::vector<Point> outline;  // closed by itself
  Ink ink = Ink::bar;
  double opacity = 1;
  std::string hint;  // what the reader sees when pointing at it, in the SVG
};

struct Line {
  std::vector<Point> points;
  Ink ink = Ink::axis;
  double width = 1;
};

struct Text {
  Point at;  // on the baseline
  std::string text;
  Ink ink = Ink::label;
  double size = 11;  // of the letter M with its surroundings (CSS font-size)
  Anchor anchor = Anchor::start;
};

struct Plot {
  double width = 860, height = 420;
  std::string title;                                   // for readers that cannot see it
  std::vector<std::variant<Area, Line, Text>> shapes;  // the later ones on top
};

std::string plot_svg(const Plot& plot);
// `scale` pixels for each of the plot's.
data::Bytes plot_png(const Plot& plot, int scale);

// The smallest of 1, 2, 5 times a power of ten that cuts `range` into at most `parts`.
double nice_step(double range, int parts);

}  // namespace weft::cli

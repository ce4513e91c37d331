// SPDX-License-Identifier: MIT
// Letters made of pen strokes, for text in PNG pictures: no font file is needed.
#pragma once

#include <string_view>
#include <vector>

#include "examples/weft/output/plot.h"

namespace weft::cli {

using Stroke = std::vector<Point>;  // one point, twice, is a dot

struct StrokeText {
  std::vector<Stroke> strokes;  // the baseline begins at (0, 0)
  double width = 0;
};

// ASCII; dashes, the multiplication sign and the like are shown by what is nearest, others as '?'.
StrokeText stroke_text(std::string_view utf8, double size);

}  // namespace weft::cli

// SPDX-License-Identifier: MIT
// Letters made of pen strokes: no font file is needed.
#pragma once

#include <string_view>
#include <vector>

namespace weft::data {

struct PenPoint {
  double x = 0, y = 0;  // y down
};
using Stroke = std::vector<PenPoint>;  // one point, twice, is a dot

struct StrokeText {
  std::vector<Stroke> strokes;  // the baseline begins at (0, 0)
  double width = 0;
};

// ASCII; dashes, the multiplication sign and the like are shown by what is nearest, others as '?'.
StrokeText stroke_text(std::string_view utf8, double size);

}  // namespace weft::data

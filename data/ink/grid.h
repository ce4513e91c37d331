// SPDX-License-Identifier: MIT
// Forms: boxes, printed or not, in rows and columns.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/ink/ink.h"

namespace weft::data {

// The printed boxes of a form, of about one size: ground that lines enclose on all four sides.
// Strokes may cross the lines. Empty when there are none. In pixels of the plane.
std::vector<InkBox> printed_boxes(const Plane& picture, bool is_dark_on_light);

struct GridCell {
  std::int64_t row = 0, column = 0;  // from 0
  bool operator==(const GridCell&) const = default;
};

// Places along one axis of a page, which may be turned a little.
struct GridAxis {
  double slope = 0;                // what a place moves by each pixel along the other axis
  std::vector<double> boundaries;  // of the cells: one more than there are
  bool is_there = false;           // as many cells as were asked for
  std::int64_t found = 0;          // how many there seem to be
};

// Rows and columns that boxes or marks lie in.
class Grid {
 public:
  // Throws data, in one line with the numbers that were found, unless the centres of these boxes
  // lie in so many rows and columns, each with at least one box. `what` they are is for the
  // message: "marks".
  Grid(const std::vector<InkBox>& boxes, std::int64_t rows, std::int64_t columns,
       const std::string& name, const std::string& what);

  // The cell that the centre of the box lies in; none beside the grid.
  std::optional<GridCell> cell_of(const InkBox& box) const;

 private:
  GridAxis rows_, columns_;
};

}  // namespace weft::data

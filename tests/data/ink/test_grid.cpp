// SPDX-License-Identifier: MIT
// Tests which rows and columns boxes lie in, and which boxes are printed on a form.
#include "data/ink/grid.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/error.h"
#include "tests/data/files.h"

namespace weft::data {
namespace {

// Rows and columns of boxes of 30 x 40 with 80 and 100 pixels from one to the next, turned.
std::vector<InkBox> boxes_in(std::int64_t rows, std::int64_t columns, double angle) {
  std::vector<InkBox> boxes;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const double x = 80.0 * static_cast<double>(column), y = 100.0 * static_cast<double>(row);
      boxes.push_back({std::lround(200 + std::cos(angle) * x - std::sin(angle) * y),
                       std::lround(200 + std::sin(angle) * x + std::cos(angle) * y), 30, 40});
    }
  }
  return boxes;
}

TEST(Grid, EachBoxHasItsCellWhereSomeAreMissing) {
  for (const double angle : {0.0, 0.05, -0.1}) {
    SCOPED_TRACE(angle);
    const std::vector<InkBox> all = boxes_in(4, 5, angle);
    std::vector<InkBox> boxes;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i != 3 && i != 7 && i != 19) boxes.push_back(all[i]);
    }
    const Grid grid(boxes, 4, 5, "x", "marks");
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      EXPECT_EQ(grid.cell_of(all[i]), (GridCell{at / 5, at % 5})) << i;
    }
    EXPECT_FALSE(grid.cell_of({20, 200, 30, 40}));   // far to the left
    EXPECT_FALSE(grid.cell_of({200, 700, 30, 40}));  // far below
  }
}

TEST(Grid, OneRowAndOneColumn) {
  const Grid row(boxes_in(1, 3, 0.03), 1, 3, "x", "marks");
  EXPECT_EQ(row.cell_of({280, 200, 30, 40}), (GridCell{0, 1}));
  const Grid column(boxes_in(3, 1, 0.03), 3, 1, "x", "marks");
  EXPECT_EQ(column.cell_of({200, 400, 30, 40}), (GridCell{2, 0}));
}

TEST(Grid, WhatIsNoSuchGridIsRefusedInOneLine) {
  const auto refuse = [](const std::vector<InkBox>& boxes, std::int64_t rows, std::int64_t columns,
                         const std::string& part) {
    test::expect_error(ErrorKind::data, {"page.png: the ", part},
                       [&] { Grid(boxes, rows, columns, "page.png", "marks"); });
  };
  const std::vector<InkBox> boxes = boxes_in(4, 5, 0);
  refuse(boxes, 5, 5, "20 marks do not lie in 5 rows and 5 columns: there seem to be 4 and 5");
  refuse(boxes, 3, 5, "there seem to be 4 and 5");
  refuse(boxes, 4, 1, "4 rows and 1 column: there seem to be 4 and 5");
  refuse(boxes, 1, 5, "1 row and 5 columns");
  refuse({}, 2, 2, "0 marks do not lie in 2 rows");
  refuse({boxes[0]}, 1, 2, "there seem to be 1 and 1");
  // Scattered, so that nothing parts the rows.
  std::vector<InkBox> scattered;
  for (std::int64_t i = 0; i < 20; ++i) scattered.push_back({i * 53 % 200, i * 17, 30, 40});
  refuse(scattered, 3, 4, "20 marks do not lie in 3 rows and 4 columns");
}

void draw_box(Plane& page, const InkBox& box, float ink) {
  for (std::int64_t x = box.left; x < box.right(); ++x) {
    page.at(x, box.top) = page.at(x, box.bottom() - 1) = ink;
  }
  for (std::int64_t y = box.top; y < box.bottom(); ++y) {
    page.at(box.left, y) = page.at(box.right() - 1, y) = ink;
  }
}

TEST(Grid, PrintedBoxesAreFoundBesideWriting) {
  for (const bool is_dark : {true, false}) {
    SCOPED_TRACE(is_dark);
    Plane page(600, 400, 220);
    std::vector<InkBox> boxes;
    for (std::int64_t i = 0; i < 12; ++i) {
      boxes.push_back({40 + i % 6 * 80, 60 + i / 6 * 120, 60, 80});
      draw_box(page, boxes.back(), 150);
    }
    // A ring, a stroke across the lower line of a box, and one that parts a box from top to bottom.
    for (int step = 0; step < 2000; ++step) {
      const double turn = step * 0.00314159;
      for (std::int64_t wide = 0; wide < 5; ++wide) {
        page.at(std::lround(70 + (14.0 + static_cast<double>(wide)) * std::cos(turn)),
                std::lround(100 + (22.0 + static_cast<double>(wide)) * std::sin(turn))) = 40;
      }
    }
    for (std::int64_t y = 110; y < 155; ++y) {
      for (std::int64_t x = 145; x < 150; ++x) page.at(x, y) = 40;
    }
    for (std::int64_t y = 60; y < 140; ++y) page.at(230, y) = page.at(231, y) = 40;
    if (!is_dark) {
      for (float& value : page.values) value = 255 - value;
    }
    const std::vector<InkBox> found = printed_boxes(page, is_dark);
    EXPECT_EQ(found.size(), 11u);  // all but the one that is parted
    const Grid grid(found, 2, 6, "x", "boxes");
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      EXPECT_EQ(grid.cell_of(boxes[i]), (GridCell{at / 6, at % 6})) << i;
    }
  }
  EXPECT_TRUE(printed_boxes(Plane(200, 200, 200), true).empty());
}

}  // namespace
}  // namespace weft::data

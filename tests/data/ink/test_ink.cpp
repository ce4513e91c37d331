// SPDX-License-Identifier: MIT
// Tests what marks of a picture are characters, and the order in which they are read.
#include "data/ink/ink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "data/ink/marks.h"
#include "data/ink/windows.h"

namespace weft::data {
namespace {

constexpr float kPaper = 220, kInk = 40;

Plane sheet(std::int64_t width, std::int64_t height) {
  return Plane(width, height, kPaper);
}

void fill(Plane& plane, const InkBox& box, float value = kInk) {
  for (std::int64_t y = box.top; y < box.bottom(); ++y) {
    for (std::int64_t x = box.left; x < box.right(); ++x) plane.at(x, y) = value;
  }
}

// A photograph is smoothed, which moves edges by a pixel.
void expect_box(const InkBox& found, const InkBox& expected, std::int64_t slack = 0) {
  EXPECT_LE(std::abs(found.left - expected.left), slack);
  EXPECT_LE(std::abs(found.top - expected.top), slack);
  EXPECT_LE(std::abs(found.right() - expected.right()), slack);
  EXPECT_LE(std::abs(found.bottom() - expected.bottom()), slack);
}

// Every filter against its definition. The picture is wider than a strip of columns.
TEST(InkWindows, AreWhatTheirDefinitionSays) {
  Plane picture(131, 37);
  for (std::size_t i = 0; i < picture.values.size(); ++i) {
    picture.values[i] = static_cast<float>(i * 7919 % 251);
  }
  constexpr std::int64_t kWindows[][2] = {{1, 1}, {3, 1}, {1, 5}, {7, 7}, {31, 9}, {9, 101}};
  for (const auto& [width, height] : kWindows) {
    const Plane most = window_max(picture, width, height);
    const Plane least = window_min(picture, width, height);
    const Plane mean = window_mean(picture, width);
    for (std::int64_t y = 0; y < picture.height; ++y) {
      for (std::int64_t x = 0; x < picture.width; ++x) {
        float high = picture.at(x, y), low = high;
        double sum = 0, count = 0;
        for (std::int64_t v = 0; v < picture.height; ++v) {
          for (std::int64_t u = 0; u < picture.width; ++u) {
            const float value = picture.at(u, v);
            const std::int64_t across = std::abs(u - x), down = std::abs(v - y);
            if (across <= width / 2 && down <= height / 2) {
              high = std::max(high, value);
              low = std::min(low, value);
            }
            if (across <= width / 2 && down <= width / 2) {
              sum += value;
              ++count;
            }
          }
        }
        ASSERT_EQ(most.at(x, y), high) << width << " x " << height << " at " << x << ", " << y;
        ASSERT_EQ(least.at(x, y), low) << width << " x " << height << " at " << x << ", " << y;
        ASSERT_NEAR(mean.at(x, y), sum / count, 1e-4) << width << " at " << x << ", " << y;
      }
    }
  }
}

// A pale stroke crosses the edge of a shadow, which is darker than the stroke in the light. The
// ground under it is that of each side, nearly up to the edge, whatever its slope.
TEST(InkWindows, TheGroundUnderAStrokeFollowsTheEdgeOfAShadow) {
  constexpr float kLight = 220, kShade = 100;
  for (const double slope : {0.0, 0.2, 0.414, 0.7, 1.0}) {
    Plane picture(600, 600);
    const auto is_lit = [&](std::int64_t x, std::int64_t y) {
      return static_cast<double>(x - 300) > slope * static_cast<double>(y - 300);
    };
    for (std::int64_t y = 0; y < 600; ++y) {
      for (std::int64_t x = 0; x < 600; ++x) {
        const bool is_stroke = y >= 285 && y < 315 && x > 150 && x < 450;
        picture.at(x, y) = (is_lit(x, y) ? kLight : kShade) * (is_stroke ? 0.65f : 1.0f);
      }
    }
    const Plane ground = disc_closing(picture, 181);
    std::int64_t wrong = 0;
    for (std::int64_t x = 160; x < 440; ++x) {
      wrong += ground.at(x, 300) < (is_lit(x, 300) ? kLight : kShade) - 1 ? 1 : 0;
    }
    EXPECT_LE(wrong, 4) << slope;  // three rectangles, nearly a disc, had up to 11
  }
}

TEST(Ink, RowsAreReadFromTheTopAndEachFromTheLeft) {
  Plane page = sheet(300, 200);
  const InkBox boxes[] = {
      {20, 30, 30, 50}, {90, 22, 8, 50}, {150, 40, 30, 48}, {10, 120, 30, 50}, {200, 110, 30, 50}};
  for (const int i : {4, 2, 0, 3, 1}) fill(page, boxes[i]);
  const std::vector<Mark> marks = find_marks(page, true);
  ASSERT_EQ(marks.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    SCOPED_TRACE(i);
    expect_box(marks[i].box, boxes[i]);
    EXPECT_EQ(marks[i].row, i < 3 ? 0 : 1);
  }
}

TEST(Ink, TheLooseBarOfAFiveBelongsToIt) {
  Plane page = sheet(200, 100);
  fill(page, {30, 36, 30, 44});  // the body, then its bar
  fill(page, {45, 22, 25, 8});
  fill(page, {120, 20, 30, 60});  // another character
  const std::vector<Mark> marks = find_marks(page, true);
  ASSERT_EQ(marks.size(), 2u);
  expect_box(marks[0].box, {30, 22, 40, 58});
  expect_box(marks[1].box, {120, 20, 30, 60});
}

// Parts of one character that lie diagonally nearly touch.
TEST(Ink, TwoCharactersOnASlopingLineStayTwo) {
  Plane page = sheet(200, 160);
  fill(page, {40, 30, 30, 60});
  fill(page, {95, 70, 30, 60});
  const std::vector<Mark> marks = find_marks(page, true);
  ASSERT_EQ(marks.size(), 2u);
  expect_box(marks[0].box, {40, 30, 30, 60});
  expect_box(marks[1].box, {95, 70, 30, 60});
}

TEST(Ink, WhatLiesAlongTheBorderIsNoWriting) {
  Plane page = sheet(300, 200);
  fill(page, {0, 0, 300, 15});  // a table above and to the left
  fill(page, {0, 0, 20, 200});
  fill(page, {150, 60, 30, 90});
  ASSERT_TRUE(polarity_of(page).is_dark_on_light);
  const std::vector<Mark> marks = find_marks(page, true);
  ASSERT_EQ(marks.size(), 1u);
  expect_box(marks[0].box, {150, 60, 30, 90}, 2);
}

TEST(Ink, WhatWasLeftOutIsCounted) {
  Plane page = sheet(300, 200);
  fill(page, {150, 60, 30, 90});
  LeftOut left_out;
  EXPECT_EQ(find_marks(page, true, &left_out).size(), 1u);
  EXPECT_EQ(left_out.count(), 0u);
  EXPECT_EQ(left_out.text(), "");
  for (std::int64_t i = 0; i < 23; ++i) fill(page, {10 + 12 * i, 10, 4, 5});
  fill(page, {60, 100, 1, 1});  // a speck
  EXPECT_EQ(find_marks(page, true, &left_out).size(), 1u);
  EXPECT_EQ(left_out.small, 23u);
  EXPECT_EQ(left_out.text(), "23 small marks were left out");
  fill(page, {0, 0, 20, 200});
  EXPECT_EQ(find_marks(page, true, &left_out).size(), 1u);
  EXPECT_EQ(left_out.at_border, 1u);
  EXPECT_EQ((LeftOut{1, 0}.text()), "1 small mark was left out");
  EXPECT_EQ((LeftOut{0, 1}.text()), "1 mark along the border was left out");
  EXPECT_EQ((LeftOut{2, 3}.text()), "2 small marks and 3 along the border were left out");
}

TEST(Ink, ACharacterMayTouchTheBorder) {
  Plane page = sheet(300, 200);
  fill(page, {150, 0, 30, 90});
  std::vector<Mark> marks = find_marks(page, true);
  ASSERT_EQ(marks.size(), 1u);
  expect_box(marks[0].box, {150, 0, 30, 90});
  // Even in the corner, when it is all that there is.
  page = sheet(300, 200);
  fill(page, {0, 0, 30, 90});
  marks = find_marks(page, true);
  ASSERT_EQ(marks.size(), 1u);
  expect_box(marks[0].box, {0, 0, 30, 90});
}

TEST(Ink, PolarityIsThatOfTheGroundUnderTheInk) {
  Plane page(300, 300, 20);  // a dark table all around the sheet
  fill(page, {50, 50, 200, 200}, kPaper);
  fill(page, {140, 90, 20, 100});
  for (std::int64_t y = 0; y < 300; ++y) {  // brighter to the right, as no drawing is
    for (std::int64_t x = 0; x < 300; ++x) page.at(x, y) *= 0.8f + 0.0006f * static_cast<float>(x);
  }
  EXPECT_TRUE(polarity_of(page).is_dark_on_light);
  EXPECT_FALSE(polarity_of(page).is_open);
  for (float& value : page.values) value = 255 - value;
  EXPECT_FALSE(polarity_of(page).is_dark_on_light);
}

// Strokes as wide as strokes may be, and a shadow whose edge runs beside them.
TEST(Ink, StrokesBesideTheEdgeOfAShadowAreThinnerThanTheGroundBetween) {
  Plane page = sheet(160, 160);
  fill(page, {64, 0, 96, 160}, 79);
  for (const InkBox& stroke : {InkBox{11, 37, 31, 10}, {15, 78, 46, 10}, {8, 119, 23, 10}}) {
    fill(page, stroke);
  }
  for (std::int64_t y = 0; y < 160; ++y) {  // brighter to the right and below, as no drawing is
    for (std::int64_t x = 0; x < 160; ++x) {
      page.at(x, y) *= 0.85f + 0.0008f * static_cast<float>(x) + 0.0004f * static_cast<float>(y);
    }
  }
  EXPECT_TRUE(polarity_of(page).is_dark_on_light);
  EXPECT_TRUE(polarity_of(page).is_open);
}

TEST(Ink, PrintedRulesAreTakenOut) {
  Plane page = sheet(400, 300);
  for (std::int64_t y = 20; y < 300; y += 30) fill(page, {0, y, 400, 2}, 150);
  for (std::int64_t x = 10; x < 400; x += 30) fill(page, {x, 0, 2, 300}, 150);
  fill(page, {180, 80, 30, 100});
  const std::vector<Mark> marks = find_marks(page, true);
  ASSERT_EQ(marks.size(), 1u);
  expect_box(marks[0].box, {180, 80, 30, 100}, 3);
}

TEST(Ink, NothingBehindTheLastPixelIsInk) {
  Plane plane(5, 5);
  plane.values.push_back(1);
  plane.values.pop_back();  // the memory behind the plane goes on holding the 1
  EXPECT_TRUE(connected_pieces(plane, 0.25f, 0.5f).empty());
  plane.values.back() = 1;
  EXPECT_EQ(connected_pieces(plane, 0.25f, 0.5f).size(), 1u);
}

TEST(Ink, ADifferenceIsThatOfEveryPixel) {
  Plane a(3, 2, 5), b(3, 2);
  for (std::size_t i = 0; i < b.values.size(); ++i) b.values[i] = static_cast<float>(i + 1);
  EXPECT_EQ(difference(a, b).values, (std::vector<float>{4, 3, 2, 1, 0, -1}));
}

void outline(Plane& plane, const InkBox& box, std::int64_t wide) {
  fill(plane, {box.left, box.top, box.width, wide});
  fill(plane, {box.left, box.bottom() - wide, box.width, wide});
  fill(plane, {box.left, box.top, wide, box.height});
  fill(plane, {box.right() - wide, box.top, wide, box.height});
}

TEST(Ink, AFrameAroundWritingIsNoMark) {
  Plane picture = sheet(300, 200);
  outline(picture, {40, 50, 220, 100}, 4);
  fill(picture, {80, 70, 8, 60});
  fill(picture, {150, 70, 8, 60});
  const std::vector<Mark> marks = find_marks(picture, true);
  ASSERT_EQ(marks.size(), 2u);
  expect_box(marks[0].box, {80, 70, 8, 60}, 1);
  expect_box(marks[1].box, {150, 70, 8, 60}, 1);
}

TEST(Ink, ARectangleWithNothingInItIsAMark) {
  Plane picture = sheet(300, 200);
  outline(picture, {110, 50, 70, 100}, 6);
  const std::vector<Mark> marks = find_marks(picture, true);
  ASSERT_EQ(marks.size(), 1u);
  expect_box(marks[0].box, {110, 50, 70, 100}, 1);
}

// The second box of a form has nothing in it. Two zeros that were written as boxes have thick
// strokes, or sides that bend.
TEST(Ink, AnEmptyBoxOfAFormIsNoMark) {
  Plane form = sheet(400, 200), thick = form, bent = form;
  for (const std::int64_t left : {40, 160, 280}) {
    outline(form, {left, 50, 80, 100}, 4);
    outline(thick, {left, 50, 60, 100}, 10);
    for (std::int64_t y = 0; y < 100; ++y) {
      const std::int64_t bend = (y - 50) * (y - 50) / 400;  // 6 pixels at both ends
      fill(bent, {left + bend, 50 + y, 4, 1});
      fill(bent, {left + 76 - bend, 50 + y, 4, 1});
    }
    fill(bent, {left + 6, 50, 68, 4});
    fill(bent, {left + 6, 146, 68, 4});
  }
  fill(form, {75, 70, 8, 60});
  fill(form, {315, 70, 8, 60});
  EXPECT_EQ(find_marks(form, true).size(), 2u);
  EXPECT_EQ(find_marks(thick, true).size(), 3u);
  EXPECT_EQ(find_marks(bent, true).size(), 3u);
}

TEST(Ink, ADarkGridIsTakenOutAndAStrokeAcrossItStays) {
  Plane picture = sheet(400, 300);
  for (std::int64_t x = 20; x < 400; x += 90) fill(picture, {x, 0, 4, 300});
  for (std::int64_t y = 15; y < 300; y += 90) fill(picture, {0, y, 400, 4});
  fill(picture, {60, 35, 8, 50});
  fill(picture, {150, 90, 8, 70});  // across a line
  fill(picture, {240, 130, 8, 50});
  const std::vector<Mark> marks = find_marks(picture, true);
  ASSERT_EQ(marks.size(), 3u);
  for (const Mark& mark : marks) {
    EXPECT_NEAR(static_cast<double>(mark.box.width), 8, 2);
    EXPECT_GE(mark.box.height, 48);
  }
  EXPECT_NEAR(static_cast<double>(marks[1].box.height), 70, 3);
}

TEST(Ink, AStrokeThatSpansACropIsNoRule) {
  Plane picture = sheet(120, 160);  // a 7, cut out at the edge of its ink
  fill(picture, {0, 0, 120, 6});
  for (std::int64_t y = 0; y < 160; ++y) fill(picture, {110 - y / 2, y, 7, 1});
  const std::vector<Mark> marks = find_marks(picture, true);
  ASSERT_EQ(marks.size(), 1u);
  expect_box(marks[0].box, {0, 0, 120, 160}, 1);
}

TEST(Ink, ADottedLineUnderTheWritingIsNoWriting) {
  Plane picture = sheet(400, 200);
  for (std::int64_t x = 10; x < 390; x += 10) fill(picture, {x, 150, 5, 5});
  fill(picture, {100, 70, 8, 60});
  fill(picture, {200, 70, 8, 60});
  EXPECT_EQ(find_marks(picture, true).size(), 2u);
}

TEST(Ink, ASoftShadowDoesNotHideSmallWriting) {
  Plane picture = sheet(600, 400);
  for (std::int64_t i = 0; i < 6; ++i) fill(picture, {60 + 80 * i, 80, 4, 24});
  for (std::int64_t y = 200; y < 400; ++y) {  // it gets darker over 100 pixels
    const float share = std::min(1.0f, static_cast<float>(y - 200) / 100);
    for (std::int64_t x = 0; x < 600; ++x) picture.at(x, y) *= 1 - 0.6f * share;
  }
  EXPECT_EQ(find_marks(picture, true).size(), 6u);
}

TEST(Ink, ASmallRingBesideTallMarksIsWriting) {
  Plane picture = sheet(500, 200);
  for (std::int64_t i = 0; i < 4; ++i) fill(picture, {60 + 60 * i, 50, 8, 100});
  outline(picture, {330, 124, 20, 26}, 4);
  fill(picture, {400, 124, 20, 26});  // as large, and filled: a blot
  const std::vector<Mark> marks = find_marks(picture, true);
  ASSERT_EQ(marks.size(), 5u);
  expect_box(marks[4].box, {330, 124, 20, 26}, 1);
}

TEST(Ink, DigitsAboveEachOtherAreTwoAndTheHalvesOfAnEightAreOne) {
  Plane digits = sheet(200, 200), halves = digits;
  outline(digits, {80, 30, 40, 60}, 6);
  outline(digits, {80, 94, 40, 60}, 6);
  EXPECT_EQ(find_marks(digits, true).size(), 2u);
  outline(halves, {75, 50, 50, 46}, 6);
  outline(halves, {75, 99, 50, 46}, 6);
  EXPECT_EQ(find_marks(halves, true).size(), 1u);
}

// Both parts of a 7 that a shadow's edge has parted, and two splinters beside it.
TEST(Ink, SplintersBesideTheTwoPartsOfACharacterDoNotMakeAPage) {
  Plane picture = sheet(300, 300);
  fill(picture, {60, 40, 150, 50});
  fill(picture, {150, 94, 50, 100});
  EXPECT_EQ(find_marks(picture, true).size(), 1u);
  fill(picture, {30, 220, 24, 20});
  fill(picture, {250, 220, 24, 20});
  const std::vector<Mark> marks = find_marks(picture, true);
  ASSERT_FALSE(marks.empty());
  expect_box(marks[0].box, {60, 40, 150, 154});
}

// A row that was cut out closely: the second mark is as high as the picture.
TEST(Ink, AMarkAsHighAsACloseRowIsWriting) {
  Plane page = sheet(400, 100);
  page.at(0, 50) = kPaper - 30;  // a photograph, of more than one level
  for (std::int64_t x = 0; x < 400; ++x) {
    for (std::int64_t y = 0; y < 100; ++y) page.at(x, y) -= static_cast<float>((x + y) % 40);
  }
  fill(page, {60, 6, 14, 90});
  fill(page, {200, 0, 14, 100});
  EXPECT_EQ(find_marks(page, true).size(), 2u);
}

TEST(Ink, TheEdgeOfTheSheetAlongTheBorderIsNoWriting) {
  Plane page = sheet(400, 300);
  for (std::int64_t i = 0; i < 4; ++i) fill(page, {60 + 70 * i, 100, 12, 60});
  fill(page, {0, 120, 4, 130});
  LeftOut left_out;
  EXPECT_EQ(find_marks(page, true, &left_out).size(), 4u);
  EXPECT_EQ(left_out.at_border, 1u);
  EXPECT_EQ(left_out.boxes, (std::vector<InkBox>{{0, 120, 4, 130}}));
}

}  // namespace
}  // namespace weft::data

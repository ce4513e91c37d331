// SPDX-License-Identifier: MIT
// Tests that marks which touch each other are cut apart where a judge says so.
#include "data/ink/cuts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "data/ink/preprocess.h"

namespace weft::data {
namespace {

constexpr std::uint8_t kGround = 230, kStroke = 20;

void fill(GreyImage& image, const InkBox& box) {
  for (std::int64_t y = box.top; y < box.bottom(); ++y) {
    for (std::int64_t x = box.left; x < box.right(); ++x) {
      image.pixels[static_cast<std::size_t>(y * image.width + x)] = kStroke;
    }
  }
}

// Three uprights of which a bar joins the first two, which are two characters, or one.
GreyImage joined_uprights() {
  GreyImage image{240, 120, std::vector<std::uint8_t>(240 * 120, kGround)};
  for (const std::int64_t left : {30, 90, 180}) fill(image, {left, 30, 12, 60});
  fill(image, {42, 56, 48, 4});
  return image;
}

// A judge of upright strokes: it is unsure of all that is wide at 28 x 28.
Judgement judge_uprights(std::span<const std::uint8_t> pixels) {
  int left = 28, right = 0;
  for (int i = 0; i < 28 * 28; ++i) {
    if (pixels[static_cast<std::size_t>(i)] < 128) continue;
    left = std::min(left, i % 28);
    right = std::max(right, i % 28);
  }
  const bool is_wide = right - left > 16;
  return {is_wide ? 0.3 : 0.9, is_wide};
}

TEST(Cuts, PartMarksThatTouchWhenTheJudgeIsSureOfTheParts) {
  const GreyImage image = joined_uprights();
  EXPECT_EQ(prepare_marks(image, Invert::automatic, "x").size(), 2u);
  const std::vector<PreparedImage> marks =
      prepare_marks(image, Invert::automatic, "x", {}, judge_uprights);
  ASSERT_EQ(marks.size(), 3u);
  for (const PreparedImage& mark : marks) {
    EXPECT_EQ(mark.row, 0);
    EXPECT_EQ(mark.marks, 3u);
    EXPECT_EQ(mark.box.height, 60);
  }
  EXPECT_LT(marks[0].box.right(), 90);
  EXPECT_GT(marks[1].box.left, 42);
}

TEST(Cuts, LeaveAMarkOfWhichTheJudgeIsSure) {
  const auto sure = [](std::span<const std::uint8_t>) { return Judgement{0.6, false}; };
  EXPECT_EQ(prepare_marks(joined_uprights(), Invert::automatic, "x", {}, sure).size(), 2u);
  const auto unsure = [](std::span<const std::uint8_t>) { return Judgement{0.6, true}; };
  EXPECT_EQ(prepare_marks(joined_uprights(), Invert::automatic, "x", {}, unsure).size(), 2u);
}

TEST(Cuts, LeaveANarrowMarkAndOneWithoutALineThroughOneStroke) {
  const auto mark_of = [](std::int64_t width, std::int64_t height) {
    Mark mark{{0, 0, width, height}, 0, Plane(width, height)};
    for (std::int64_t x = 0; x < width; ++x) {
      for (const std::int64_t y : {std::int64_t{0}, height - 1}) mark.ink.at(x, y) = 255;
    }
    for (std::int64_t y = 0; y < height; ++y) mark.ink.at(0, y) = mark.ink.at(width - 1, y) = 255;
    return mark;
  };
  EXPECT_TRUE(cuts_of(mark_of(20, 60), true).empty());
  EXPECT_TRUE(cuts_of(mark_of(60, 60), true).empty());  // a ring: every line crosses two strokes
}

}  // namespace
}  // namespace weft::data

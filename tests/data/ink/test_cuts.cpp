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

TEST(Cuts, LeaveANarrowMarkAndOneWithoutALineThroughTwoStrokes) {
  const auto ring_with_bars = [](std::int64_t width, std::int64_t height, int bars) {
    Mark mark{{0, 0, width, height}, 0, Plane(width, height)};
    for (std::int64_t x = 0; x < width; ++x) {
      for (const std::int64_t y : {std::int64_t{0}, height - 1}) mark.ink.at(x, y) = 255;
    }
    for (std::int64_t y = 0; y < height; ++y) mark.ink.at(0, y) = mark.ink.at(width - 1, y) = 255;
    for (int bar = 1; bar <= bars; ++bar) {
      for (std::int64_t x = 0; x < width; ++x) mark.ink.at(x, bar * height / (bars + 1)) = 255;
    }
    return mark;
  };
  EXPECT_TRUE(cuts_of(ring_with_bars(20, 60, 0)).empty());
  EXPECT_FALSE(cuts_of(ring_with_bars(60, 60, 0)).empty());  // upright lines cross two strokes
  EXPECT_TRUE(cuts_of(ring_with_bars(60, 60, 3)).empty());
}

// Two rings, one above the other, that are taken for the halves of an 8. The judge is as sure of
// the 8 as it says, and surer of a ring.
TEST(Cuts, PartDigitsAboveEachOtherWhereTheyAreMoreProbable) {
  GreyImage image{200, 240, std::vector<std::uint8_t>(200 * 240, kGround)};
  for (const std::int64_t top : {40, 100}) {
    fill(image, {80, top, 56, 8});
    fill(image, {80, top + 48, 56, 8});
    fill(image, {80, top, 8, 56});
    fill(image, {128, top, 8, 56});
  }
  const auto judge_of_rings = [](double of_an_eight) {
    return [of_an_eight](std::span<const std::uint8_t> pixels) {
      bool has_bar = false;  // in the middle
      for (std::size_t y = 12; y < 17; ++y) has_bar = has_bar || pixels[28 * y + 14] > 99;
      return Judgement{has_bar ? of_an_eight : 0.95, false};
    };
  };
  const auto marks = [&](const Judge& judge) {
    return prepare_marks(image, Invert::automatic, "x", {}, judge);
  };
  EXPECT_EQ(marks({}).size(), 1u);
  EXPECT_EQ(marks(judge_of_rings(0.9)).size(), 1u);
  const std::vector<PreparedImage> two = marks(judge_of_rings(0.5));
  ASSERT_EQ(two.size(), 2u);
  for (std::int64_t row = 0; row < 2; ++row) {
    EXPECT_EQ(two[static_cast<std::size_t>(row)].row, row);
    EXPECT_EQ(two[static_cast<std::size_t>(row)].box, (InkBox{80, 40 + 60 * row, 56, 56}));
  }
}

// An angle and an upright beside it, `gap` pixels apart, as in a 4 whose bar does not meet its
// stem.
GreyImage broken_character(std::int64_t gap) {
  GreyImage image{200, 200, std::vector<std::uint8_t>(200 * 200, kGround)};
  fill(image, {60, 40, 8, 90});
  fill(image, {60, 122, 44, 8});
  fill(image, {104 + gap, 40, 8, 120});
  return image;
}

TEST(Cuts, JoinABrokenCharacterWhenTheJudgeIsSureOfTheWhole) {
  // Sure of what has ink at three of its corners or more: the upper ones, and one below.
  const auto of_the_whole = [](std::span<const std::uint8_t> pixels) {
    const auto has_ink = [&](int left, int top) {
      for (int y = top; y < top + 14; ++y) {
        for (int x = left; x < left + 9; ++x) {
          if (pixels[static_cast<std::size_t>(28 * y + x)] > 127) return true;
        }
      }
      return false;
    };
    const bool is_whole = has_ink(5, 3) && has_ink(16, 3) && has_ink(16, 14);
    return Judgement{is_whole ? 0.9 : 0.4, !is_whole};
  };
  const auto unsure = [](std::span<const std::uint8_t>) { return Judgement{0.4, true}; };
  const auto marks = [](std::int64_t gap, const Judge& judge) {
    return prepare_marks(broken_character(gap), Invert::automatic, "x", {}, judge).size();
  };
  EXPECT_EQ(marks(5, {}), 2u);
  EXPECT_EQ(marks(5, of_the_whole), 1u);
  EXPECT_EQ(marks(5, unsure), 2u);
  EXPECT_EQ(marks(20, of_the_whole), 2u);
  const PreparedImage one = prepare_image(broken_character(5), Preprocess::mnist, Invert::automatic,
                                          "x", {}, of_the_whole);
  EXPECT_EQ(one.marks, 1u);
  EXPECT_EQ(one.box.left, 60);
  EXPECT_EQ(one.box.width, 57);
}

}  // namespace
}  // namespace weft::data

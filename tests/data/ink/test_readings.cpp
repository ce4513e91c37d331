// SPDX-License-Identifier: MIT
// Tests what a network sees of uneven ink and of hairlines with narrow loops, and that it decides
// whether ink is dark or light where the ground leaves that open.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "data/ink/preprocess.h"

namespace weft::data {
namespace {

constexpr std::uint8_t kSheet = 230, kFull = 20, kPale = 110;

GreyImage blank(std::int64_t width, std::int64_t height) {
  return {width, height,
          std::vector<std::uint8_t>(static_cast<std::size_t>(width * height), kSheet)};
}

void draw(GreyImage& image, const InkBox& box, std::uint8_t value = kFull) {
  for (std::int64_t y = box.top; y < box.bottom(); ++y) {
    for (std::int64_t x = box.left; x < box.right(); ++x) {
      image.pixels[static_cast<std::size_t>(y * image.width + x)] = value;
    }
  }
}

PreparedImage seen_in(const GreyImage& image, Invert invert = Invert::automatic,
                      const Judge& judge = {}) {
  return prepare_image(image, Preprocess::mnist, invert, "x", {}, judge);
}

// The largest value of the rows of a prepared picture.
int most_in_rows(const PreparedImage& prepared, int first, int last) {
  return *std::max_element(prepared.pixels.begin() + 28 * first,
                           prepared.pixels.begin() + 28 * last);
}

TEST(Readings, InkThatIsPaleInPartsIsFullInk) {
  GreyImage image = blank(300, 300);
  draw(image, {140, 60, 24, 90});
  draw(image, {140, 150, 24, 90}, kPale);  // 57 % of full ink
  const PreparedImage prepared = seen_in(image);
  EXPECT_GE(most_in_rows(prepared, 6, 12), 250);
  EXPECT_GE(most_in_rows(prepared, 19, 23), 250);
}

// Rings of hairlines. The narrow one would be filled by a stroke of usual width.
TEST(Readings, HairlinesAreNotWidenedOverTheirLoops) {
  for (const double half_width : {30.0, 150.0}) {
    SCOPED_TRACE(half_width);
    GreyImage image = blank(800, 800);
    for (int step = 0; step < 8000; ++step) {
      const double turn = step * 0.000785398;
      const auto x = std::lround(400 + half_width * std::cos(turn));
      const auto y = std::lround(400 + 300 * std::sin(turn));
      draw(image, {x - 2, y - 2, 5, 5});
    }
    const PreparedImage prepared = seen_in(image);
    double ink = 0;  // of a row, in pixels: two strokes as wide as hairlines become
    for (std::size_t x = 0; x < 28; ++x) ink += prepared.pixels[28 * 14 + x] / 255.0;
    EXPECT_NEAR(ink, half_width < 100 ? 1.5 : 2.8, 0.5);
  }
}

// Strokes as wide as strokes may be, and a shadow whose edge runs beside them. The gaps between
// them are strokes of light ink as well.
GreyImage open_picture() {
  GreyImage image = blank(160, 160);
  draw(image, {64, 0, 96, 160}, 79);
  for (const InkBox& stroke : {InkBox{11, 37, 31, 10}, {15, 78, 46, 10}, {8, 119, 23, 10}}) {
    draw(image, stroke);
  }
  for (std::int64_t y = 0; y < 160; ++y) {  // brighter to the right and below, as no drawing is
    for (std::int64_t x = 0; x < 160; ++x) {
      std::uint8_t& pixel = image.pixels[static_cast<std::size_t>(160 * y + x)];
      const double light = 0.85 + 0.0008 * static_cast<double>(x) + 0.0004 * static_cast<double>(y);
      pixel = static_cast<std::uint8_t>(light * pixel);
    }
  }
  return image;
}

TEST(Readings, TheJudgeDecidesOnInkThatMayBeDarkOrLight) {
  const GreyImage image = open_picture();
  const std::vector<std::uint8_t> dark = seen_in(image, Invert::yes).pixels;
  const std::vector<std::uint8_t> light = seen_in(image, Invert::no).pixels;
  ASSERT_NE(dark, light);
  const auto sure_of = [](const std::vector<std::uint8_t>& pixels) {
    return [&pixels](std::span<const std::uint8_t> seen) {
      return Judgement{0.5, !std::equal(seen.begin(), seen.end(), pixels.begin())};
    };
  };
  EXPECT_TRUE(seen_in(image, Invert::automatic, sure_of(dark)).inverted);
  EXPECT_FALSE(seen_in(image, Invert::automatic, sure_of(light)).inverted);
  EXPECT_TRUE(seen_in(image, Invert::yes, sure_of(light)).inverted);
}

}  // namespace
}  // namespace weft::data

// SPDX-License-Identifier: MIT
// Tests that ink is found which differs from its ground in colour only.
#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "data/ink/colour.h"
#include "data/ink/preprocess.h"

namespace weft::data {
namespace {

using Rgb = std::array<std::uint8_t, 3>;

// A PNG of an upright stroke of this ink.
Bytes stroke_on(const Rgb& ground, const Rgb& ink) {
  constexpr std::int64_t kSide = 120;
  Bytes pixels;
  for (std::int64_t y = 0; y < kSide; ++y) {
    for (std::int64_t x = 0; x < kSide; ++x) {
      const bool is_ink = x >= 55 && x < 65 && y >= 30 && y < 90;
      const Rgb& colour = is_ink ? ink : ground;
      pixels.insert(pixels.end(), colour.begin(), colour.end());
    }
  }
  return encode_png(pixels, kSide, kSide, 3);
}

TEST(ColourInk, IsFoundAtTheSameBrightness) {
  const Rgb blue = {80, 120, 230}, red = {220, 83, 50};
  const GreyImage brightness = decode_grey_image(stroke_on(blue, red), "x");
  EXPECT_NEAR(brightness.pixels[0], brightness.pixels[60 * 120 + 60], 8);  // hardly any contrast
  for (const auto& [ground, ink] : {std::pair{blue, red}, std::pair{red, blue}}) {
    const GreyImage image = decode_ink_image(stroke_on(ground, ink), "x");
    EXPECT_GT(image.pixels[0], image.pixels[60 * 120 + 60] + 80);  // the ground is light
    const PreparedImage mark = prepare_image(image, Preprocess::mnist, Invert::automatic, "x");
    EXPECT_EQ(mark.box, (InkBox{55, 30, 10, 60}));
  }
}

TEST(ColourInk, LeavesWhatDiffersInBrightness) {
  for (const Rgb& ink : {Rgb{20, 20, 20}, Rgb{30, 40, 160}, Rgb{150, 20, 20}}) {
    const Bytes png = stroke_on({230, 225, 210}, ink);
    EXPECT_EQ(decode_ink_image(png, "x").pixels, decode_grey_image(png, "x").pixels);
  }
  const Bytes grey = encode_png(Bytes(900, 140), 30, 30, 1);
  EXPECT_EQ(decode_ink_image(grey, "x").pixels, Bytes(900, 140));
}

}  // namespace
}  // namespace weft::data

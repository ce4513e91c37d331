// SPDX-License-Identifier: MIT
// Hard pictures: reproducible, of the kinds they say, and damaged as strongly as is asked for.
#include "data/hard/damage.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>
#include <string>

#include "data/hard/signs.h"
#include "data/sets/digits.h"
#include "data/sets/hands.h"
#include "tests/support/folder.h"

namespace weft::data {
namespace {

constexpr std::size_t kPixelsOfHard = 28 * 28;
using Picture = std::array<std::uint8_t, kPixelsOfHard>;

double ink_of(std::span<const std::uint8_t> image) {
  double sum = 0;
  for (const std::uint8_t pixel : image) sum += pixel;
  return sum / 255;
}

TEST(HardPictures, FollowFromTheSeed) {
  const Dataset digits = generate_digits({300, 0, 3});
  const HardPictures a = hard_pictures(digits.train, 5, 200),
                     b = hard_pictures(digits.train, 5, 200);
  const HardPictures other = hard_pictures(digits.train, 6, 200);
  ASSERT_EQ(a.images.count, 400);
  ASSERT_EQ(a.images.images.size(), 400 * kPixelsOfHard);
  EXPECT_EQ(a.images.images, b.images.images);
  EXPECT_NE(a.images.images, other.images.images);
  for (std::size_t i = 0; i < 400; ++i) {
    EXPECT_EQ(a.is_digit[i], i < 200 ? 1 : 0);
    EXPECT_EQ(a.images.labels[i], i < 200 ? digits.train.labels[i] : 0);
  }
  EXPECT_EQ(hard_pictures(digits.train, 5, 1000).images.count, 600);
}

TEST(HardPictures, NoKindIsEmptyAndAllDiffer) {
  const std::span<const SignKind> kinds = sign_kinds();
  EXPECT_EQ(kinds.size(), 60u);
  const Dataset digits = generate_digits({100, 0, 3});
  std::set<std::string> names;
  std::set<Picture> pictures;
  for (std::size_t kind = 0; kind < kinds.size() + 4; ++kind) {
    for (std::uint64_t i = 0; i < 5; ++i) {
      Draw draw(9, 100 * i + kind);
      Picture picture{};
      draw_stranger(kind, digits.train.image(0).data(), digits.train.image(1).data(), draw,
                    picture.data());
      const double ink = ink_of(picture);
      EXPECT_GT(ink, 8) << kind;
      EXPECT_LT(ink, 400) << kind;
      pictures.insert(picture);
    }
    if (kind < kinds.size()) names.insert(kinds[kind].name);
  }
  EXPECT_EQ(names.size(), kinds.size());
  EXPECT_EQ(pictures.size(), 5 * (kinds.size() + 4));
}

TEST(HardPictures, MoreStrengthDamagesMore) {
  const Dataset digits = generate_digits({400, 0, 3});
  double changed[3] = {};
  for (std::int64_t i = 0; i < digits.train.count; ++i) {
    const std::span<const std::uint8_t> digit = digits.train.image(i);
    for (int step = 0; step < 3; ++step) {
      Draw draw(7, static_cast<std::uint64_t>(i));
      Picture picture{};
      draw_damaged(digit.data(), 0.5f * static_cast<float>(step), draw, picture.data());
      for (std::size_t p = 0; p < picture.size(); ++p) {
        changed[step] += std::abs(picture[p] - digit[p]) / 255.0;
      }
    }
  }
  EXPECT_GT(changed[1], 1.1 * changed[0]);
  EXPECT_GT(changed[2], 1.1 * changed[1]);
}

TEST(HardPictures, WantDigitsOfMnistsSize) {
  ImageSet small{.count = 1, .channels = 1, .height = 27, .width = 28};
  EXPECT_TRUE(test::throws(ErrorKind::usage, "28 x 28", [&] { hard_pictures(small, 1, 10); }));
}

}  // namespace
}  // namespace weft::data

// SPDX-License-Identifier: MIT
// The procedural digits: reproducible to the bit, in MNIST's format, varied, and like MNIST.
#include "data/sets/digits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>

#include "data/files/sha256.h"
#include "data/hard/pen.h"
#include "data/sets/digit_styles.h"
#include "data/sets/hands.h"
#include "data/sets/statistics.h"
#include "tests/support/folder.h"

namespace weft::data {
namespace {

constexpr int kSide = 28, kPixels = kSide * kSide;

std::vector<std::uint8_t> image_of(const ImageSet& set, std::int64_t index) {
  const auto begin = set.images.begin() + static_cast<std::ptrdiff_t>(index * kPixels);
  return {begin, begin + kPixels};
}

TEST(Digits, SameSeedSameBits) {
  const Dataset a = generate_digits({700, 300, 5}), b = generate_digits({700, 300, 5});
  EXPECT_EQ(a.train.images, b.train.images);
  EXPECT_EQ(a.train.labels, b.train.labels);
  EXPECT_EQ(a.test.images, b.test.images);
  EXPECT_EQ(a.mean, b.mean);
}

// An image depends on seed and index alone, not on how many are drawn with it.
TEST(Digits, AnyNumberHasTheSamePrefix) {
  const ImageSet few = generate_digits({10, 0, 1}).train, many = generate_digits({900, 0, 1}).train;
  EXPECT_TRUE(std::equal(few.images.begin(), few.images.end(), many.images.begin()));
  EXPECT_TRUE(std::equal(few.labels.begin(), few.labels.end(), many.labels.begin()));
  std::array<std::uint8_t, kPixels> drawn;
  draw_digit(few.labels[7], 1, 7, drawn.data());
  EXPECT_TRUE(std::equal(drawn.begin(), drawn.end(), image_of(few, 7).begin()));
}

#if defined(__x86_64__) && !defined(__FMA__)
// Saved models and published accuracies refer to exactly these images.
TEST(Digits, FirstHundredImagesAreTheKnownOnes) {
  const ImageSet set = generate_digits({100, 0, 1}).train;
  EXPECT_EQ(sha256_hex(set.images),
            "73ba595576996f805a8c9ab82ebd860b25662204e9d1dcd6abba0012678540b6");
}
#endif

TEST(Digits, SeedsAndSplitsDiffer) {
  const Dataset one = generate_digits({200, 200, 1}), two = generate_digits({200, 0, 2});
  EXPECT_NE(one.train.images, two.train.images);
  EXPECT_NE(one.train.images, one.test.images);
  std::set<std::string> distinct;
  for (int i = 0; i < 200; ++i) {
    distinct.insert(sha256_hex(image_of(one.train, i)));
    distinct.insert(sha256_hex(image_of(one.test, i)));
  }
  EXPECT_EQ(distinct.size(), 400u);
}

TEST(Digits, EmptySetsAreEmpty) {
  const Dataset none = generate_digits({0, 0, 1});
  EXPECT_EQ(none.train.count, 0);
  EXPECT_TRUE(none.train.images.empty());
  EXPECT_EQ(none.stddev, std::vector<float>{1});
}

// Pixels are divided by the deviation, so that of a channel of one value is 1.
TEST(Statistics, AChannelOfOneValueIsNotScaled) {
  Dataset dataset;
  dataset.train = {.count = 2, .channels = 2, .height = 1, .width = 1, .images = {51, 0, 51, 255}};
  set_statistics(dataset);
  EXPECT_EQ(dataset.mean, (std::vector<float>{0.2f, 0.5f}));
  EXPECT_EQ(dataset.stddev, (std::vector<float>{1, 0.5f}));
}

TEST(Digits, FollowMnistsConventions) {
  const Dataset dataset = generate_digits({3000, 100, 1});
  ASSERT_EQ(dataset.class_names.size(), 10u);
  std::array<int, 10> count{};
  for (std::int64_t i = 0; i < dataset.train.count; ++i) {
    const std::vector<std::uint8_t> image = image_of(dataset.train, i);
    ASSERT_LT(dataset.train.labels[static_cast<std::size_t>(i)], 10);
    ++count[static_cast<std::size_t>(dataset.train.labels[static_cast<std::size_t>(i)])];
    double mass = 0, sum_x = 0, sum_y = 0;
    int left = kSide, right = -1, top = kSide, bottom = -1;
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        const int ink = image[static_cast<std::size_t>(y * kSide + x)];
        mass += ink;
        sum_x += ink * x;
        sum_y += ink * y;
        if (ink == 0) continue;
        left = std::min(left, x);
        right = std::max(right, x);
        top = std::min(top, y);
        bottom = std::max(bottom, y);
      }
    }
    ASSERT_GT(mass, 0);
    // Half a pixel, and a little more for ink that the move pushed out of the picture.
    EXPECT_LE(std::fabs(sum_x / mass - 14), 0.6) << i;
    EXPECT_LE(std::fabs(sum_y / mass - 14), 0.6) << i;
    const int longest = std::max(right - left, bottom - top) + 1;
    EXPECT_GE(longest, 19) << i;
    EXPECT_LE(longest, 20) << i;
    EXPECT_GE(*std::max_element(image.begin(), image.end()), 100) << i;
  }
  for (const int n : count) EXPECT_NEAR(n, 300, 90);
  // MNIST has 0.1307 and 0.3081.
  EXPECT_NEAR(dataset.mean.front(), 0.1307, 0.01);
  EXPECT_NEAR(dataset.stddev.front(), 0.3081, 0.015);
}

TEST(Digits, StylesAreWellFormed) {
  for (int digit = 0; digit < 10; ++digit) {
    float total = 0;
    ASSERT_GE(styles_of(digit).size(), 5u);
    for (const DigitStyle& style : styles_of(digit)) {
      total += style.weight;
      ASSERT_FALSE(style.strokes.empty());
      for (const KeyStroke& stroke : style.strokes) {
        EXPECT_GE(stroke.size(), 3u) << digit;
        for (const KeyPoint& point : stroke) {
          EXPECT_TRUE(point.x >= -10 && point.x <= 110) << digit;
          EXPECT_TRUE(point.y >= -10 && point.y <= 110) << digit;
        }
      }
    }
    EXPECT_NEAR(total, 1, 1e-5);
  }
}

// The width of a bar that is 20 pixels high, in pixels of full ink.
double bar_width(const std::array<std::uint8_t, kPixels>& image) {
  double sum = 0;
  for (const std::uint8_t pixel : image) sum += pixel;
  return sum / 255 / 20;
}

TEST(Hands, AnotherPenMakesStrokesWiderOrNarrower) {
  std::array<std::uint8_t, kPixels> bar{}, changed{};
  for (int y = 4; y < 24; ++y) {
    for (int x = 13; x < 16; ++x) bar[static_cast<std::size_t>(y * kSide + x)] = 255;
  }
  for (const double change : {-1.0, 0.0, 2.0}) {
    change_pen(bar.data(), change, changed.data());
    EXPECT_NEAR(bar_width(changed), (3 + change) * 20 / (20 + change), 0.6) << change;
  }
  change_pen(bar.data(), -5, changed.data());  // wider than the stroke, which stays
  EXPECT_GE(bar_width(changed), 1);
}

TEST(Hands, AreAddedBehindTheImagesThatWereThere) {
  const Dataset digits = generate_digits({300, 20, 3});
  Dataset a = digits, b = digits, other = digits;
  add_hands(a, 5);
  add_hands(b, 5);
  add_hands(other, 6);
  ASSERT_EQ(a.train.count, 950);
  ASSERT_EQ(a.train.images.size(), 950u * kPixels);
  EXPECT_TRUE(
      std::equal(digits.train.images.begin(), digits.train.images.end(), a.train.images.begin()));
  for (std::size_t i = 0; i < 300; ++i) EXPECT_EQ(a.train.labels[300 + i], a.train.labels[i]);
  std::array<int, 10> drawn{};
  for (std::size_t i = 600; i < 800; ++i) ++drawn.at(static_cast<std::size_t>(a.train.labels[i]));
  for (const int count : drawn) EXPECT_EQ(count, 20);
  for (std::size_t i = 0; i < 150; ++i) EXPECT_EQ(a.train.labels[800 + i], a.train.labels[2 * i]);
  EXPECT_EQ(a.train.images, b.train.images);
  EXPECT_NE(a.train.images, other.train.images);
  ASSERT_EQ(a.strangers.count, 200);
  ASSERT_EQ(a.strangers.images.size(), 200u * kPixels);
  std::array<int, 10> labels{};  // drawn at random: about 20 of each
  for (const std::int32_t label : a.strangers.labels) ++labels.at(static_cast<std::size_t>(label));
  for (const int count : labels) EXPECT_NEAR(count, 20, 17);
  EXPECT_EQ(a.strangers.images, b.strangers.images);
  EXPECT_NE(a.strangers.images, other.strangers.images);
  EXPECT_EQ(a.test.images, digits.test.images);
  EXPECT_EQ(a.mean, digits.mean);
}

TEST(Hands, WantDigits) {
  Dataset letters = generate_digits({10, 0, 1});
  letters.class_names.emplace_back("A");
  EXPECT_TRUE(test::throws(ErrorKind::usage, "no digits of 28 x 28", [&] { add_hands(letters); }));
}

}  // namespace
}  // namespace weft::data

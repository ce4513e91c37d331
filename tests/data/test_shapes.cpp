// SPDX-License-Identifier: MIT
// The procedural shapes: reproducible to the bit, all classes, and only colour tells warm from
// cold.
#include "data/sets/shapes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "data/files/sha256.h"

namespace weft::data {
namespace {

constexpr int kPlane = 32 * 32;

TEST(Shapes, SameSeedSameBits) {
  const Dataset a = generate_shapes({300, 100, 5}), b = generate_shapes({300, 100, 5});
  EXPECT_EQ(a.train.images, b.train.images);
  EXPECT_EQ(a.train.labels, b.train.labels);
  EXPECT_EQ(a.test.images, b.test.images);
  EXPECT_NE(a.train.images, generate_shapes({300, 0, 6}).train.images);
  EXPECT_FALSE(std::equal(a.test.images.begin(), a.test.images.end(), a.train.images.begin()));
}

// An image depends on seed and index alone, not on how many are drawn with it.
TEST(Shapes, AnyNumberHasTheSamePrefix) {
  const ImageSet few = generate_shapes({10, 0, 1}).train, many = generate_shapes({600, 0, 1}).train;
  EXPECT_TRUE(std::equal(few.images.begin(), few.images.end(), many.images.begin()));
  std::array<std::uint8_t, 3 * kPlane> drawn;
  draw_shape(few.labels[7], 1, 7, drawn.data());
  EXPECT_TRUE(std::ranges::equal(drawn, few.image(7)));
}

TEST(Shapes, TheSetIsWhatItSays) {
  const Dataset shapes = generate_shapes({2000, 50, 1});
  EXPECT_EQ(shapes.train.channels, 3);
  EXPECT_EQ(std::ssize(shapes.train.images), 2000 * 3 * kPlane);
  ASSERT_EQ(shapes.class_names.size(), 10u);
  EXPECT_EQ(shapes.class_names[3], "cold ring");
  std::array<int, 10> count{};
  for (const std::int32_t label : shapes.train.labels) ++count.at(static_cast<std::size_t>(label));
  for (const int images : count) EXPECT_NEAR(images, 200, 70);  // five standard errors
  ASSERT_EQ(shapes.mean.size(), 3u);
  for (const float stddev : shapes.stddev) EXPECT_GT(stddev, 0.1f);
}

// Over all pixels of 1,000 images of each kind the brightness is the same, and the colours are not.
TEST(Shapes, OnlyColourTellsWarmFromCold) {
  struct {
    double brightness = 0, contrast = 0, redness = 0;
  } of[2];
  constexpr int kImages = 1000;
  std::array<std::uint8_t, 3 * kPlane> image;
  for (int kind = 0; kind < 2; ++kind) {
    for (int i = 0; i < kImages; ++i) {
      draw_shape(kind, 3, static_cast<std::uint64_t>(i), image.data());  // discs
      // The shape's middle is somewhere near the centre; its ground is at the corners.
      double sum = 0, squares = 0, corner = 0;
      for (std::size_t k = 0; k < kPlane; ++k) {
        const double red = image[k], green = image[kPlane + k], blue = image[2 * kPlane + k];
        const double y = 0.299 * red + 0.587 * green + 0.114 * blue;
        sum += y;
        squares += y * y;
        if (k == 0) corner = red - blue;
      }
      const double mean = sum / kPlane;
      of[kind].brightness += mean / kImages;
      of[kind].contrast += std::sqrt(squares / kPlane - mean * mean) / kImages;
      of[kind].redness += corner / kImages;
    }
  }
  EXPECT_NEAR(of[0].brightness, of[1].brightness, 3);
  EXPECT_NEAR(of[0].contrast, of[1].contrast, 1);
  EXPECT_LT(of[0].redness, -25);  // a warm disc on cold ground
  EXPECT_GT(of[1].redness, 25);
}

#if defined(__x86_64__) && !defined(__FMA__)
// Saved models and published accuracies refer to exactly these images.
TEST(Shapes, FirstHundredImagesAreTheKnownOnes) {
  EXPECT_EQ(sha256_hex(generate_shapes({100, 0, 1}).train.images),
            "d819d4a36e1c405c21198d50dc52ea6f4afb2185fd35e9a9a136ae006a14f3e8");
}
#endif

}  // namespace
}  // namespace weft::data

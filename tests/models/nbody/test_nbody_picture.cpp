// SPDX-License-Identifier: MIT
// Pictures: where bodies appear, that light adds, and that whole scenes are well exposed.
#include "models/nbody/picture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/nbody/starts.h"

namespace weft::models {
namespace {

constexpr std::int64_t kSize = 64;

Bodies one_body(float x, float y, float group = 0) {
  Bodies bodies(1);
  bodies.position = {x, y, 0, 1};
  bodies.group = {group};
  return bodies;
}

int sum(const std::vector<std::uint8_t>& picture, std::int64_t x, std::int64_t y) {
  const std::uint8_t* pixel = picture.data() + 3 * (y * kSize + x);
  return pixel[0] + pixel[1] + pixel[2];
}

TEST(NbodyPicture, ABodyShinesWhereItIs) {
  const PictureStyle style{kSize, BodyColour::galaxy};
  const Camera camera{0, 0, 1, 0.01, 0.1, 1};
  // x to the right, y up: (0.5, 0.5) is in the upper right quarter.
  const std::vector<std::uint8_t> picture = draw_bodies(one_body(0.5f, 0.5f), camera, style);
  ASSERT_EQ(picture.size(), static_cast<std::size_t>(3 * kSize * kSize));
  const auto brightest = std::max_element(picture.begin(), picture.end()) - picture.begin();
  EXPECT_NEAR(static_cast<double>(brightest / 3 % kSize), 47.5, 1.6);
  EXPECT_NEAR(static_cast<double>(brightest / 3 / kSize), 15.5, 1.6);
  EXPECT_LT(sum(picture, 5, 60), 40);  // the sky
}

TEST(NbodyPicture, GalaxiesHaveTheirColours) {
  const PictureStyle style{kSize, BodyColour::galaxy};
  const Camera camera{0, 0, 1, 0.01, 1, 1};
  const std::size_t middle = static_cast<std::size_t>(3 * (32 * kSize + 32));
  const std::vector<std::uint8_t> first = draw_bodies(one_body(0, 0, 0), camera, style);
  const std::vector<std::uint8_t> second = draw_bodies(one_body(0, 0, 1), camera, style);
  EXPECT_GT(first[middle], first[middle + 2] + 30);    // warm
  EXPECT_GT(second[middle + 2], second[middle] + 30);  // cool
}

// From red by way of a warm white to blue, and no further.
TEST(NbodyPicture, SpeedsHaveTheirColours) {
  const PictureStyle style{kSize, BodyColour::speed};
  const Camera camera{0, 0, 1, 0.01, 1, 1};
  const std::size_t middle = static_cast<std::size_t>(3 * (32 * kSize + 32));
  const auto blue_less_red = [&](float speed) {
    Bodies body = one_body(0, 0);
    body.velocity = {0, speed, 0, 0};
    const std::vector<std::uint8_t> picture = draw_bodies(body, camera, style);
    return picture[middle + 2] - picture[middle];
  };
  EXPECT_LT(blue_less_red(0), -60);
  EXPECT_LT(blue_less_red(0), blue_less_red(0.8f));
  EXPECT_LT(blue_less_red(0.8f), blue_less_red(1.3f));
  EXPECT_LT(blue_less_red(1.3f), blue_less_red(1.8f));
  EXPECT_GT(blue_less_red(1.9f), 30);
  EXPECT_EQ(blue_less_red(2), blue_less_red(100));
}

TEST(NbodyPicture, LightAdds) {
  const PictureStyle style{kSize, BodyColour::galaxy};
  const Camera camera{0, 0, 1, 1, 10, 1};
  Bodies many(5);
  for (std::size_t i = 0; i < 5; ++i) many.position[4 * i] = -0.5f;
  many.position[0] = 0.5f;  // one to the right, four to the left
  const std::vector<std::uint8_t> picture = draw_bodies(many, camera, style);
  EXPECT_GT(sum(picture, 16, 32), sum(picture, 48, 32) + 10);
}

TEST(NbodyPicture, BodiesOutOfViewOrNotFiniteAreLeftOut) {
  const PictureStyle style{kSize, BodyColour::speed};
  const Camera camera;
  const std::vector<std::uint8_t> empty = draw_bodies(one_body(5, 0), camera, style);
  EXPECT_EQ(draw_bodies(one_body(NAN, 0), camera, style), empty);
  EXPECT_EQ(draw_bodies(one_body(0, INFINITY), camera, style), empty);
  EXPECT_EQ(draw_bodies(one_body(-1e30f, 1e30f), camera, style), empty);
  EXPECT_NE(draw_bodies(one_body(0, 0), camera, style), empty);
}

// A good picture is dark in one part and grey in another, and little of it is white.
TEST(NbodyPicture, ScenesAreWellExposed) {
  for (const bool galaxies : {false, true}) {
    for (const std::int64_t n : {1000, 20000}) {
      const Bodies bodies = galaxies ? colliding_galaxies(n, 1) : plummer_sphere(n, 1);
      const PictureStyle style{256, galaxies ? BodyColour::galaxy : BodyColour::speed};
      const std::vector<std::uint8_t> picture =
          draw_bodies(bodies, fitted_camera(bodies, style), style);
      int lit = 0, white = 0, pixels = 256 * 256;
      for (std::size_t i = 0; i < picture.size(); i += 3) {
        const int low = std::min({picture[i], picture[i + 1], picture[i + 2]});
        const int high = std::max({picture[i], picture[i + 1], picture[i + 2]});
        lit += high > 60 ? 1 : 0;
        white += low > 250 ? 1 : 0;
      }
      EXPECT_GT(lit, pixels / 20) << galaxies << " " << n;
      EXPECT_LT(lit, pixels * 9 / 10) << galaxies << " " << n;
      EXPECT_LT(white, pixels / 50) << galaxies << " " << n;
    }
  }
}

TEST(NbodyPicture, ACameraFitsWhateverThereIs) {
  const PictureStyle style{kSize, BodyColour::speed};
  for (const Bodies& bodies : {one_body(3, 4), one_body(0, 0), one_body(-1e20f, 1e20f)}) {
    const Camera camera = fitted_camera(bodies, style);
    EXPECT_GT(camera.half_width, 0);
    EXPECT_GT(camera.faint, 0);
    EXPECT_GT(camera.bright, camera.faint);
    EXPECT_GT(camera.speed, 0);
    const std::vector<std::uint8_t> picture = draw_bodies(bodies, camera, style);
    EXPECT_GT(sum(picture, 32, 32), 300);
  }
  Bodies pair(2);
  pair.position = {-1, 0, 0, 1, 1, 0, 0, 1};
  const Camera camera = fitted_camera(pair, style);
  EXPECT_GT(camera.half_width, 1);
  EXPECT_LT(camera.half_width, 2);
}

}  // namespace
}  // namespace weft::models

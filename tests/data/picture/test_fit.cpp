// SPDX-License-Identifier: MIT
// Pictures brought to the size of a network: proportions, borders, means and colours.
#include <algorithm>

#include "data/picture/fit.h"

#include "tests/data/files.h"

namespace weft::data {
namespace {

using test::expect_error;

// Red tells the column, green the row.
RgbImage gradient(std::int64_t width, std::int64_t height) {
  RgbImage image{width, height, false, {}, {}, {}, {}};
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      image.red.push_back(static_cast<std::uint8_t>(10 * x));
      image.green.push_back(static_cast<std::uint8_t>(10 * y));
      image.blue.push_back(200);
      image.grey.push_back(100);
    }
  }
  return image;
}

TEST(Fit, TheRightSizeKeepsEveryByte) {
  const RgbImage image = gradient(7, 5);
  for (const Fit fit : {Fit::letterbox, Fit::crop, Fit::stretch}) {
    const RgbImage same = fit_image(image, 5, 7, fit);
    EXPECT_EQ(same.red, image.red) << name_of(fit);
    EXPECT_EQ(same.green, image.green) << name_of(fit);
    EXPECT_EQ(same.blue, image.blue) << name_of(fit);
    EXPECT_EQ(same.grey, image.grey) << name_of(fit);
  }
}

TEST(Fit, LetterboxCentresTheWholePictureOnBlack) {
  const RgbImage fitted = fit_image(gradient(4, 2), 4, 4, Fit::letterbox);
  EXPECT_EQ(fitted.width, 4);
  EXPECT_EQ(fitted.height, 4);
  EXPECT_EQ(fitted.red, (Bytes{0, 0, 0, 0, 0, 10, 20, 30, 0, 10, 20, 30, 0, 0, 0, 0}));
  EXPECT_EQ(fitted.green, (Bytes{0, 0, 0, 0, 0, 0, 0, 0, 10, 10, 10, 10, 0, 0, 0, 0}));
  EXPECT_EQ(fitted.blue, (Bytes{0, 0, 0, 0, 200, 200, 200, 200, 200, 200, 200, 200, 0, 0, 0, 0}));
}

TEST(Fit, CropTakesTheMiddle) {
  const RgbImage fitted = fit_image(gradient(6, 2), 2, 2, Fit::crop);
  EXPECT_EQ(fitted.red, (Bytes{20, 30, 20, 30}));
  EXPECT_EQ(fitted.green, (Bytes{0, 0, 10, 10}));
  const RgbImage tall = fit_image(gradient(2, 6), 2, 2, Fit::crop);
  EXPECT_EQ(tall.red, (Bytes{0, 10, 0, 10}));
  EXPECT_EQ(tall.green, (Bytes{20, 20, 30, 30}));
}

TEST(Fit, ShrinkingTakesTheMeanOfTheArea) {
  const RgbImage fitted = fit_image(gradient(4, 4), 2, 1, Fit::stretch);
  EXPECT_EQ(fitted.red, (Bytes{15, 15}));
  EXPECT_EQ(fitted.green, (Bytes{5, 25}));
  EXPECT_EQ(fitted.blue, (Bytes{200, 200}));
}

// A row of 1 x 1000 pixels in a small square has at least one pixel of height.
TEST(Fit, ExtremeProportionsStayVisible) {
  for (const Fit fit : {Fit::letterbox, Fit::crop, Fit::stretch}) {
    const RgbImage fitted = fit_image(gradient(1000, 1), 8, 8, fit);
    EXPECT_EQ(fitted.blue.size(), 64u);
    EXPECT_EQ(*std::max_element(fitted.blue.begin(), fitted.blue.end()), 200) << name_of(fit);
  }
}

TEST(Fit, GreyPicturesFillAllPlanes) {
  const RgbImage grey{2, 1, true, {}, {}, {}, {7, 9}};
  EXPECT_EQ(planes_of(fit_image(grey, 1, 2, Fit::crop), 3), (Bytes{7, 9, 7, 9, 7, 9}));
  EXPECT_EQ(planes_of(grey, 1), (Bytes{7, 9}));
  EXPECT_EQ(planes_of(gradient(2, 1), 3), (Bytes{0, 10, 0, 0, 200, 200}));
}

// The way that training reads a file, and the way that predict does, give the same bytes.
FittedFile load_fitted(const std::filesystem::path& path, std::int64_t channels,
                       std::int64_t height, std::int64_t width, Fit fit) {
  return decode_fitted(read_file(path, kMaxImageFileBytes), path.string(), channels, height, width,
                       fit);
}

TEST(Fit, FilesAreFittedAsPicturesAre) {
  int pictures = 0, colourful = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(std::string(WEFT_TESTS_DIR) + "/fuzz/picture")) {
    RgbImage image;
    try {
      image = load_rgb_image(file.path());
    } catch (const Error&) {
      EXPECT_THROW(load_fitted(file.path(), 3, 4, 4, Fit::crop), Error) << file.path();
      continue;
    }
    ++pictures;
    for (const Fit fit : {Fit::letterbox, Fit::crop, Fit::stretch}) {
      for (const auto& [height, width] : {std::pair(5, 7), std::pair(1, 1), std::pair(40, 33)}) {
        for (const std::int64_t channels : {1, 3}) {
          const FittedFile fitted = load_fitted(file.path(), channels, height, width, fit);
          EXPECT_EQ(fitted.planes, planes_of(fit_image(image, height, width, fit), channels))
              << file.path() << ", " << name_of(fit) << ", " << channels;
          EXPECT_EQ(fitted.width, image.width);
          EXPECT_EQ(fitted.height, image.height);
          EXPECT_EQ(fitted.has_colour,
                    !image.is_grey && (image.red != image.green || image.green != image.blue));
          colourful += fitted.has_colour;
        }
      }
    }
  }
  EXPECT_GT(pictures, 30);
  EXPECT_GT(colourful, 100);
}

TEST(Fit, NonsenseIsRefused) {
  const RgbImage broken{2, 2, true, {}, {}, {}, {1, 2, 3}};
  expect_error(ErrorKind::usage, {"3 pixels"}, [&] { fit_image(broken, 2, 2, Fit::crop); });
  expect_error(ErrorKind::usage, {"0 x 4"}, [] { fit_image(gradient(2, 2), 4, 0, Fit::crop); });
  expect_error(ErrorKind::usage, {"not 2"}, [] { planes_of(gradient(2, 2), 2); });
  expect_error(ErrorKind::usage, {"'strech'", "did you mean 'stretch'"},
               [] { parse_fit("strech"); });
  EXPECT_EQ(parse_fit(name_of(Fit::letterbox)), Fit::letterbox);
}

}  // namespace
}  // namespace weft::data

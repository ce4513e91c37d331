// SPDX-License-Identifier: MIT
// From pictures to 28 x 28: polarity, geometry, idempotence, robustness to bad light.
#include "data/ink/preprocess.h"

#include <algorithm>
#include <cmath>

#include "data/ink/ink.h"
#include "data/picture/plane.h"
#include "data/sets/digits.h"
#include "engine/random.h"
#include "tests/data/files.h"

namespace weft::data {
namespace {

using test::expect_error;
constexpr int kInputSide = 28;

struct Geometry {
  double centre_x = 0, centre_y = 0;
  int width = 0, height = 0, brightest = 0;
};

Geometry measure(const std::vector<std::uint8_t>& pixels) {
  Geometry g;
  double mass = 0;
  int left = kInputSide, right = -1, top = kInputSide, bottom = -1;
  for (int y = 0; y < kInputSide; ++y) {
    for (int x = 0; x < kInputSide; ++x) {
      const int ink = pixels.at(static_cast<std::size_t>(y * kInputSide + x));
      g.brightest = std::max(g.brightest, ink);
      mass += ink;
      g.centre_x += ink * x;
      g.centre_y += ink * y;
      if (ink == 0) continue;
      left = std::min(left, x);
      right = std::max(right, x);
      top = std::min(top, y);
      bottom = std::max(bottom, y);
    }
  }
  g.centre_x /= mass;
  g.centre_y /= mass;
  g.width = right - left + 1;
  g.height = bottom - top + 1;
  return g;
}

GreyImage digit_image(int digit, std::uint64_t index) {
  GreyImage image{kInputSide, kInputSide, std::vector<std::uint8_t>(kInputSide * kInputSide)};
  draw_digit(digit, 1, index, image.pixels.data());
  return image;
}

GreyImage from_plane(const Plane& plane) {
  GreyImage image{plane.width, plane.height, {}};
  for (const float value : plane.values) {
    image.pixels.push_back(static_cast<std::uint8_t>(std::clamp(value, 0.0f, 255.0f) + 0.5f));
  }
  return image;
}

GreyImage inverted(GreyImage image) {
  for (std::uint8_t& pixel : image.pixels) pixel = static_cast<std::uint8_t>(255 - pixel);
  return image;
}

GreyImage scaled(const GreyImage& image, std::int64_t width, std::int64_t height) {
  Plane plane(image.width, image.height);
  std::copy(image.pixels.begin(), image.pixels.end(), plane.values.begin());
  return from_plane(resample(plane, width, height));
}

GreyImage shifted(const GreyImage& image, std::int64_t frame, std::int64_t dx, std::int64_t dy) {
  GreyImage result{frame, frame,
                   std::vector<std::uint8_t>(static_cast<std::size_t>(frame * frame))};
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width; ++x) {
      result.pixels[static_cast<std::size_t>((y + dy) * frame + x + dx)] =
          image.pixels[static_cast<std::size_t>(y * image.width + x)];
    }
  }
  return result;
}

// The mean difference between `a` and `b` at the best of the moves of `a` by at most one pixel: the
// centre of mass is rounded to whole pixels, so it may fall to either side.
double mean_difference(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  EXPECT_EQ(a.size(), static_cast<std::size_t>(kInputSide * kInputSide));
  EXPECT_EQ(b.size(), static_cast<std::size_t>(kInputSide * kInputSide));
  double best = 255;
  for (int dy = -1; dy <= 1; ++dy) {
    for (int dx = -1; dx <= 1; ++dx) {
      double sum = 0;
      for (int y = 1; y + 1 < kInputSide; ++y) {
        for (int x = 1; x + 1 < kInputSide; ++x) {
          sum += std::abs(int{a[static_cast<std::size_t>((y + dy) * kInputSide + x + dx)]} -
                          int{b[static_cast<std::size_t>(y * kInputSide + x)]});
        }
      }
      best = std::min(best, sum / (kInputSide * kInputSide));
    }
  }
  return best;
}

PreparedImage prepare(const GreyImage& image, Invert invert = Invert::automatic) {
  return prepare_image(image, Preprocess::mnist, invert, "x");
}

// Networks for drawn characters of other sizes see the same picture, larger or smaller.
TEST(Preprocess, OtherSizesAreScaledAlike) {
  for (const auto& [height, width] : {std::pair{14, 14}, {32, 32}, {64, 64}, {32, 48}}) {
    for (const int digit : {0, 7}) {
      SCOPED_TRACE(std::to_string(height) + "x" + std::to_string(width) + ": " +
                   std::to_string(digit));
      const GreyImage picture =
          inverted(shifted(scaled(digit_image(digit, 3), 140, 140), 200, 50, 9));
      const PictureSize size{height, width};
      const PreparedImage prepared =
          prepare_image(picture, Preprocess::mnist, Invert::automatic, "x", size);
      EXPECT_TRUE(prepared.inverted);
      ASSERT_EQ(std::ssize(prepared.pixels), height * width);
      double mass = 0, x = 0, y = 0;
      int left = width, right = -1, top = height, bottom = -1;
      for (int at = 0; at < height * width; ++at) {
        const int ink = prepared.pixels[static_cast<std::size_t>(at)];
        mass += ink;
        x += ink * (at % width);
        y += ink * (at / width);
        if (ink == 0) continue;
        left = std::min(left, at % width);
        right = std::max(right, at % width);
        top = std::min(top, at / width);
        bottom = std::max(bottom, at / width);
      }
      EXPECT_NEAR(x / mass, width / 2.0, 0.51);
      EXPECT_NEAR(y / mass, height / 2.0, 0.51);
      EXPECT_NEAR(
          std::max(28.0 / 20 * (right - left + 1) / width, 28.0 / 20 * (bottom - top + 1) / height),
          1, 0.12);
      EXPECT_EQ(prepare_marks(picture, Invert::automatic, "x", size).at(0).pixels, prepared.pixels);
      const PreparedImage whole =
          prepare_image(picture, Preprocess::resize, Invert::automatic, "x", size);
      EXPECT_EQ(whole.pixels.size(), prepared.pixels.size());
      EXPECT_TRUE(whole.inverted);
      expect_error(ErrorKind::data,
                   {"must be " + std::to_string(width) + " x " + std::to_string(height)},
                   [&] { prepare_image(picture, Preprocess::none, Invert::no, "x", size); });
    }
  }
}

void expect_mnist_geometry(const std::vector<std::uint8_t>& pixels, const std::string& what) {
  ASSERT_EQ(pixels.size(), static_cast<std::size_t>(kInputSide * kInputSide));
  const Geometry g = measure(pixels);
  EXPECT_LE(std::fabs(g.centre_x - 14), 0.51) << what;
  EXPECT_LE(std::fabs(g.centre_y - 14), 0.51) << what;
  EXPECT_LE(std::max(g.width, g.height), 20) << what;
  EXPECT_GE(std::max(g.width, g.height), 18) << what;
  EXPECT_GE(g.brightest, 250) << what;
}

TEST(Preprocess, MnistGeometryFromAnySizePolarityAndPlace) {
  for (int digit = 0; digit < 10; ++digit) {
    const GreyImage image = digit_image(digit, 40);
    const std::string what = str("digit ", digit);
    expect_mnist_geometry(prepare(image).pixels, what);
    expect_mnist_geometry(prepare(inverted(image)).pixels, what);
    expect_mnist_geometry(prepare(scaled(image, 280, 280)).pixels, what);
    expect_mnist_geometry(prepare(scaled(image, 900, 900)).pixels, what);
    expect_mnist_geometry(prepare(shifted(image, 60, 30, 2)).pixels, what);
    EXPECT_FALSE(prepare(image).inverted);
    EXPECT_TRUE(prepare(inverted(image)).inverted);
  }
}

TEST(Preprocess, MnistLeavesDigitsInItsFormatAlmostAlone) {
  for (int digit = 0; digit < 10; ++digit) {
    for (std::uint64_t index = 0; index < 5; ++index) {
      const GreyImage once = {kInputSide, kInputSide, prepare(digit_image(digit, index)).pixels};
      EXPECT_LE(mean_difference(prepare(once).pixels, once.pixels), 3) << digit << ", " << index;
      EXPECT_EQ(prepare(inverted(once)).pixels, prepare(once).pixels) << digit << ", " << index;
      EXPECT_EQ(prepare(shifted(once, 50, 3, 19)).pixels, prepare(once).pixels) << digit;
    }
  }
}

TEST(Preprocess, AspectRatioIsKept) {
  GreyImage bar{100, 100, std::vector<std::uint8_t>(10000, 255)};
  for (std::size_t y = 10; y < 90; ++y) {
    for (std::size_t x = 40; x < 60; ++x) bar.pixels[y * 100 + x] = 0;
  }
  const PreparedImage prepared = prepare(bar);
  const Geometry g = measure(prepared.pixels);
  EXPECT_TRUE(prepared.inverted);
  EXPECT_EQ(g.height, 20);
  EXPECT_EQ(g.width, 5);
}

TEST(Preprocess, PhotoOfPaperInUnevenLightWithNoiseAndDirt) {
  for (int digit = 0; digit < 10; ++digit) {
    const GreyImage image = digit_image(digit, 40);
    const Plane ink = [&] {
      Plane plane(kInputSide, kInputSide);
      std::copy(image.pixels.begin(), image.pixels.end(), plane.values.begin());
      return resample(plane, 280, 280);
    }();
    Plane photo(400, 500);
    for (std::int64_t y = 0; y < photo.height; ++y) {
      for (std::int64_t x = 0; x < photo.width; ++x) {
        const float light = 120 + 0.2f * static_cast<float>(x) + 0.05f * static_cast<float>(y);
        const bool inside = x >= 70 && x < 350 && y >= 120 && y < 400;
        const float covered = inside ? ink.at(x - 70, y - 120) / 255 : 0;
        const auto counter = static_cast<std::uint64_t>(y * photo.width + x);
        const Random4 random = philox(3, RandomStream::data, 7, counter);
        const float noise = 12 * (uniform01(random.value[0]) + uniform01(random.value[1]) - 1);
        const bool dirt = (x - 20) * (x - 20) + (y - 30) * (y - 30) < 9;
        photo.at(x, y) = light * (1 - 0.7f * (dirt ? 1 : covered)) + noise;
      }
    }
    const PreparedImage prepared = prepare(from_plane(photo));
    EXPECT_TRUE(prepared.inverted) << digit;
    expect_mnist_geometry(prepared.pixels, str("photo of ", digit));
    // Against the same strokes without the photo; the mean pixel is about 33.
    EXPECT_LE(mean_difference(prepared.pixels, prepare(image).pixels), 20) << digit;
  }
}

// A face has marks inside its outline, more than the parts of any digit.
TEST(Preprocess, WhatLiesInsideTheLargestMarkBelongsToIt) {
  Plane paper(300, 300, 230);
  const auto disc = [&](double x, double y, double outer, double inner) {
    for (std::int64_t row = 0; row < paper.height; ++row) {
      for (std::int64_t column = 0; column < paper.width; ++column) {
        const double distance =
            std::hypot(static_cast<double>(column) - x, static_cast<double>(row) - y);
        if (distance <= outer && distance >= inner) paper.at(column, row) = 20;
      }
    }
  };
  const auto ink_inside = [](const PreparedImage& prepared) {
    double sum = 0;
    for (int y = 10; y < 18; ++y) {
      for (int x = 10; x < 18; ++x) sum += prepared.pixels.at(static_cast<std::size_t>(28 * y + x));
    }
    return sum / 255;
  };
  disc(120, 150, 100, 92);
  const PreparedImage empty = prepare(from_plane(paper));
  EXPECT_EQ(empty.marks, 1);
  EXPECT_LT(ink_inside(empty), 1);
  for (const double x : {85.0, 155.0}) {
    for (const double y : {115.0, 185.0}) disc(x, y, 16, 0);
  }
  disc(120, 150, 16, 0);
  const PreparedImage face = prepare(from_plane(paper));
  EXPECT_EQ(face.marks, 1);
  EXPECT_EQ(face.box, empty.box);
  EXPECT_GT(ink_inside(face), 8);
  disc(260, 150, 30, 22);  // beside it, so it stays a mark of its own
  const PreparedImage two = prepare(from_plane(paper));
  EXPECT_EQ(two.marks, 2);
  EXPECT_EQ(two.box, empty.box);
}

// The largest mark is the one that covers most, not the longest.
TEST(Preprocess, ALongStrokeBesideACharacterIsNotTakenForIt) {
  GreyImage drawing{300, 300, std::vector<std::uint8_t>(90000, 255)};
  for (std::size_t y = 60; y < 190; ++y) {
    for (std::size_t x = 20; x < 24; ++x) drawing.pixels[y * 300 + x] = 0;
  }
  for (std::size_t y = 90; y < 150; ++y) {
    for (std::size_t x = 150; x < 210; ++x) drawing.pixels[y * 300 + x] = 0;
  }
  const PreparedImage prepared = prepare(drawing);
  EXPECT_EQ(prepared.marks, 2);
  EXPECT_EQ(prepared.box, (InkBox{150, 90, 60, 60}));
}

TEST(Preprocess, HairLinesBecomeFullInk) {
  GreyImage drawing{300, 300, std::vector<std::uint8_t>(90000, 255)};
  for (std::size_t y = 20; y < 280; ++y) drawing.pixels[y * 300 + 150] = 0;
  for (std::size_t x = 100; x < 150; ++x) drawing.pixels[20 * 300 + x] = 0;
  expect_mnist_geometry(prepare(drawing).pixels, "hair lines");
}

TEST(Preprocess, NothingToFindIsAnError) {
  for (const std::int64_t side : {1, 2, 28, 300}) {
    for (const int level : {0, 128, 255}) {
      const GreyImage flat{side, side,
                           std::vector<std::uint8_t>(static_cast<std::size_t>(side * side),
                                                     static_cast<std::uint8_t>(level))};
      for (const Invert invert : {Invert::automatic, Invert::yes, Invert::no}) {
        expect_error(ErrorKind::data, {"flat.png", "no ink/contrast"},
                     [&] { prepare_image(flat, Preprocess::mnist, invert, "flat.png"); });
        const PreparedImage resized = prepare_image(flat, Preprocess::resize, invert, "x");
        EXPECT_EQ(resized.pixels.size(), 784u);
        EXPECT_EQ(resized.pixels[0], resized.pixels[400]);
      }
    }
  }
}

// A page is never called empty that has ink on it.
TEST(Preprocess, InkWithoutAMarkIsNamed) {
  GreyImage page{300, 300, std::vector<std::uint8_t>(90000, 230)};
  for (std::size_t y = 10; y < 290; y += 12) {
    for (std::size_t x = 10; x < 290; x += 12) {
      for (std::size_t i = 0; i < 4; ++i) page.pixels[300 * (y + i % 2) + x + i / 2] = 20;
    }
  }
  expect_error(ErrorKind::data,
               {"dots.png", "the picture has ink/contrast, but no mark of a digit's size",
                "576 small marks were left out"},
               [&] { prepare_image(page, Preprocess::mnist, Invert::automatic, "dots.png"); });
}

TEST(Preprocess, OddShapesDoNotCrash) {
  for (const auto& [width, height] : {std::pair<std::int64_t, std::int64_t>{1, 2},
                                      {2, 1},
                                      {3, 3},
                                      {1, 500},
                                      {500, 1},
                                      {5000, 2}}) {
    GreyImage image{width, height,
                    std::vector<std::uint8_t>(static_cast<std::size_t>(width * height), 250)};
    image.pixels[image.pixels.size() / 2] = 0;
    for (const Preprocess mode : {Preprocess::mnist, Preprocess::resize}) {
      for (const Invert invert : {Invert::automatic, Invert::yes, Invert::no}) {
        try {
          EXPECT_EQ(prepare_image(image, mode, invert, "x").pixels.size(), 784u);
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::data);
        }
      }
    }
  }
}

TEST(Preprocess, InvertCanBeForced) {
  const GreyImage image = digit_image(8, 3);
  EXPECT_EQ(prepare(inverted(image), Invert::yes).pixels, prepare(image, Invert::no).pixels);
  // Taken for the wrong way round, a digit is a ground brighter than its ink.
  expect_error(ErrorKind::data, {"ink/contrast, but no mark", "nothing darker than the ground"},
               [&] { prepare(image, Invert::yes); });
  const auto resized = [&](Invert invert) {
    return prepare_image(image, Preprocess::resize, invert, "x").pixels;
  };
  EXPECT_EQ(resized(Invert::no), image.pixels);
  EXPECT_EQ(resized(Invert::yes), inverted(image).pixels);
}

TEST(Preprocess, ResizeKeepsTheWholePicture) {
  const GreyImage image = digit_image(3, 5);
  const auto resize = [](const GreyImage& picture) {
    return prepare_image(picture, Preprocess::resize, Invert::automatic, "x").pixels;
  };
  EXPECT_EQ(resize(image), image.pixels);
  EXPECT_EQ(resize(inverted(image)), image.pixels);
  EXPECT_LE(mean_difference(resize(scaled(image, 280, 280)), image.pixels), 8);
  // A wide picture is padded above and below with its own ground.
  GreyImage wide{56, 28, std::vector<std::uint8_t>(56 * 28, 30)};
  wide.pixels[14 * 56 + 28] = 255;
  const std::vector<std::uint8_t> padded = resize(wide);
  EXPECT_EQ(padded[0], 30);
  EXPECT_EQ(padded[27 * 28 + 27], 30);
}

// Paper of one grey with a bar on it.
GreyImage paper_with_bar(std::int64_t width, std::int64_t height, const InkBox& bar) {
  GreyImage image{width, height,
                  std::vector<std::uint8_t>(static_cast<std::size_t>(width * height), 170)};
  for (std::int64_t y = bar.top; y < bar.bottom(); ++y) {
    for (std::int64_t x = bar.left; x < bar.right(); ++x) {
      image.pixels[static_cast<std::size_t>(y * width + x)] = 40;
    }
  }
  return image;
}

TEST(Preprocess, AMarginAroundAPhotographIsNoInk) {
  const GreyImage page = paper_with_bar(300, 240, {140, 60, 20, 120});
  for (const std::uint8_t level : {std::uint8_t{255}, std::uint8_t{0}}) {
    GreyImage framed{380, 320, std::vector<std::uint8_t>(380 * 320, level)};
    for (std::int64_t y = 0; y < page.height; ++y) {
      std::copy_n(page.pixels.begin() + y * page.width, page.width,
                  framed.pixels.begin() + (y + 40) * framed.width + 40);
    }
    const auto marks = prepare_marks(framed, Invert::automatic, "x");
    ASSERT_EQ(marks.size(), 1u);
    EXPECT_TRUE(marks[0].inverted);
    EXPECT_NEAR(static_cast<double>(marks[0].box.left), 180, 2);
    EXPECT_NEAR(static_cast<double>(marks[0].box.top), 100, 2);
    EXPECT_NEAR(static_cast<double>(marks[0].box.height), 120, 4);
  }
}

TEST(Preprocess, HairlinesKeepTheirWeight) {
  const auto ink_of = [](std::int64_t wide) {
    const auto prepared = prepare_image(paper_with_bar(900, 900, {440, 150, wide, 600}),
                                        Preprocess::mnist, Invert::automatic, "x");
    double sum = 0;
    for (const std::uint8_t pixel : prepared.pixels) sum += pixel;
    return sum / 255 / 20;  // the width of the stroke in pixels of 28
  };
  EXPECT_NEAR(ink_of(6), 1.4, 0.5);
  EXPECT_NEAR(ink_of(20), 1.4, 0.5);
  EXPECT_NEAR(ink_of(90), 3, 0.4);
}

TEST(Preprocess, SmallWritingOfALargePictureIsFound) {
  GreyImage image = paper_with_bar(2400, 1800, {300, 300, 5, 30});  // 1.7 % of the shorter side
  for (std::int64_t i = 1; i < 12; ++i) {
    const GreyImage bar = paper_with_bar(2400, 1800, {300 + 60 * i, 300, 5, 30});
    for (std::size_t at = 0; at < image.pixels.size(); ++at) {
      image.pixels[at] = std::min(image.pixels[at], bar.pixels[at]);
    }
  }
  const auto marks = prepare_marks(image, Invert::automatic, "x");
  ASSERT_EQ(marks.size(), 12u);
  EXPECT_NEAR(static_cast<double>(marks[11].box.left), 960, 2);
  EXPECT_NEAR(static_cast<double>(marks[11].box.height), 30, 3);
}

TEST(Preprocess, NoneTakesOnlyTheRightSize) {
  const GreyImage image = digit_image(3, 5);
  EXPECT_EQ(prepare_image(image, Preprocess::none, Invert::automatic, "x").pixels, image.pixels);
  EXPECT_EQ(prepare_image(inverted(image), Preprocess::none, Invert::yes, "x").pixels,
            image.pixels);
  expect_error(ErrorKind::data, {"x.png", "28 x 28", "found 27 x 28"}, [] {
    prepare_image({27, 28, std::vector<std::uint8_t>(27 * 28)}, Preprocess::none, Invert::no,
                  "x.png");
  });
  expect_error(ErrorKind::usage, {"3 pixels for 2 x 2"}, [] {
    prepare_image({2, 2, std::vector<std::uint8_t>(3)}, Preprocess::mnist, Invert::no, "x");
  });
}

TEST(Preprocess, NamesOfModes) {
  EXPECT_EQ(parse_preprocess("mnist"), Preprocess::mnist);
  EXPECT_EQ(parse_preprocess("resize"), Preprocess::resize);
  EXPECT_EQ(parse_preprocess("none"), Preprocess::none);
  EXPECT_EQ(parse_invert("auto"), Invert::automatic);
  EXPECT_EQ(parse_invert("yes"), Invert::yes);
  EXPECT_EQ(parse_invert("no"), Invert::no);
  expect_error(ErrorKind::usage, {"resise", "resize"}, [] { parse_preprocess("resise"); });
  expect_error(ErrorKind::usage, {"maybe"}, [] { parse_invert("maybe"); });
}

TEST(Resample, SameSizeIsIdentityAndMeansAreKept) {
  Plane plane(31, 17);
  for (std::size_t i = 0; i < plane.values.size(); ++i) {
    plane.values[i] = static_cast<float>(i * 37 % 251);
  }
  EXPECT_EQ(resample(plane, 31, 17).values, plane.values);
  const auto mean = [](const Plane& p) {
    double sum = 0;
    for (const float value : p.values) sum += value;
    return sum / static_cast<double>(p.values.size());
  };
  EXPECT_NEAR(mean(resample(plane, 7, 5)), mean(plane), 1e-3);
  EXPECT_NEAR(mean(resample(plane, 1, 1)), mean(plane), 1e-3);
  const Plane grown = resample(Plane(1, 1, 9), 5, 4);
  EXPECT_EQ(grown.values, std::vector<float>(20, 9));
}

}  // namespace
}  // namespace weft::data

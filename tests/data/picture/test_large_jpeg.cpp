// SPDX-License-Identifier: MIT
// JPEGs of more pixels than a picture may have. They are drawn block by block, in two bits for a
// block that is as the one before it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "data/ink/preprocess.h"
#include "engine/extent.h"
#include "tests/data/picture/pictures.h"

namespace weft::data {
namespace {

using test::can_be_decoded;
using test::decode_grey;
using test::expect_refused;
using test::JpegWriter;

constexpr int kSequential = 0xc0, kInScans = 0xc2;
constexpr int kPaperGrey = 230, kInkGrey = 20;
constexpr const char* kWithout = "built without libjpeg-turbo";

// Bits as a scan has them.
class Bits {
 public:
  void put(std::uint32_t value, int count) {
    for (int i = count - 1; i >= 0; --i) {
      byte_ = byte_ << 1 | (value >> i & 1);
      if (++filled_ == 8) flush();
    }
  }
  Bytes finish() {
    while (filled_ > 0) put(1, 1);
    return std::move(bytes_);
  }

 private:
  void flush() {
    bytes_.push_back(static_cast<std::uint8_t>(byte_));
    if ((byte_ & 255) == 255) bytes_.push_back(0);
    byte_ = 0;
    filled_ = 0;
  }
  Bytes bytes_;
  std::uint32_t byte_ = 0;
  int filled_ = 0;
};

using LevelOf = std::function<int(std::int64_t x, std::int64_t y)>;  // of a block

// Blocks of one level each. The quantisation step is 1, so that DC is 8 times the level.
Bytes blocks_of(std::int64_t wide, std::int64_t high, const LevelOf& level_of) {
  Bits bits;
  int before = 128;
  for (std::int64_t y = 0; y < high; ++y) {
    for (std::int64_t x = 0; x < wide; ++x) {
      const int level = level_of(x, y), difference = 8 * (level - before);
      before = level;
      if (difference == 0) {
        bits.put(0, 1);
      } else {
        bits.put(2, 2);  // a difference of 11 bits
        bits.put(static_cast<std::uint32_t>(difference < 0 ? difference + 2047 : difference), 11);
      }
      bits.put(0, 1);  // nothing but DC
    }
  }
  return bits.finish();
}

JpegWriter tables() {
  return JpegWriter().quantisation().huffman(0, {{1, 0}, {2, 11}}).huffman(16, {{1, 0}});
}

Bytes grey_jpeg(int width, int height, const LevelOf& level_of) {
  return tables()
      .frame(kSequential, width, height, {{1, 0x11, 0}})
      .scan({{1, 0}}, 0, 63, 0, blocks_of(divide_up(width, 8), divide_up(height, 8), level_of))
      .finish();
}

// A bar, upright in the picture, on paper. Its sides are multiples of 8.
constexpr InkBox kBar{4000, 2000, 480, 3200};
int level_of_bar(std::int64_t x, std::int64_t y) {
  const bool is_inside =
      8 * x >= kBar.left && 8 * x < kBar.right() && 8 * y >= kBar.top && 8 * y < kBar.bottom();
  return is_inside ? kInkGrey : kPaperGrey;
}

// Differences of 11 bits only, so that the first block is black.
int with_black_corner(std::int64_t x, std::int64_t y) {
  return x == 0 && y == 0 ? 0 : level_of_bar(x, y);
}

TEST(LargeJpeg, IsReadAtHalfOfItsSides) {
  const Bytes jpeg = grey_jpeg(9001, 7000, with_black_corner);
  if (!reads_large_jpeg()) {
    expect_refused(jpeg, kWithout);
    return;
  }
  const GreyImage image = decode_grey(jpeg);
  EXPECT_EQ(image.reduction, 2);
  ASSERT_EQ(image.width, 4501);
  ASSERT_EQ(image.height, 3500);
  int different = 0;
  for (std::int64_t y = 4; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width; ++x) {
      const int expected = level_of_bar(2 * x / 8, 2 * y / 8);
      const int found = image.pixels[static_cast<std::size_t>(y * image.width + x)];
      different += std::abs(found - expected) > 1 ? 1 : 0;
    }
  }
  EXPECT_EQ(different, 0);
}

TEST(LargeJpeg, BoxesAreInPixelsOfTheFile) {
  if (!reads_large_jpeg()) GTEST_SKIP() << "built without libjpeg-turbo";
  const PreparedImage prepared =
      prepare_image(decode_grey(grey_jpeg(9000, 7000, with_black_corner)), Preprocess::mnist,
                    Invert::automatic, "x");
  constexpr std::int64_t kSlack = 30;  // the search is made in 800 pixels
  for (std::int64_t InkBox::*part :
       {&InkBox::left, &InkBox::top, &InkBox::width, &InkBox::height}) {
    EXPECT_LE(std::abs(prepared.box.*part - kBar.*part), kSlack);
  }
}

TEST(LargeJpeg, ColoursAndTheCamerasOrientationAreKept) {
  if (!reads_large_jpeg()) GTEST_SKIP() << "built without libjpeg-turbo";
  // Wider than 8192 pixels. Blue-green colours have half of the resolution. Each MCU has the
  // differences of six blocks, in which DC starts at 0.
  constexpr int kWide = 8208, kHigh = 16;
  Bits bits;
  for (int mcu = 0; mcu < kWide / 16; ++mcu) {
    for (int block = 0; block < 6; ++block) {
      const bool is_first_red = mcu == 0 && block == 5;
      if (is_first_red) {
        bits.put(2, 2);
        bits.put(2047 - 1024, 11);  // -1024: no red
      } else {
        bits.put(0, 1);
      }
      bits.put(0, 1);
    }
  }
  Bytes jpeg = tables()
                   .frame(kSequential, kWide, kHigh, {{1, 0x22, 0}, {2, 0x11, 0}, {3, 0x11, 0}})
                   .scan({{1, 0}, {2, 0}, {3, 0}}, 0, 63, 0, bits.finish())
                   .finish();
  const RgbImage image = decode_rgb_image(jpeg, "x");
  EXPECT_EQ(image.reduction, 2);
  ASSERT_EQ(image.width, kWide / 2);
  ASSERT_EQ(image.height, kHigh / 2);
  EXPECT_EQ(image.red[0], 0);
  EXPECT_NEAR(image.green[0], 219, 1);  // 128 + 0.714 * 128
  EXPECT_NEAR(image.blue[0], 128, 1);
  const Bytes exif = test::exif_segment(6);
  jpeg.insert(jpeg.begin() + 2, exif.begin(), exif.end());
  const GreyImage turned = decode_grey(jpeg);
  EXPECT_EQ(turned.width, kHigh / 2);
  EXPECT_EQ(turned.height, kWide / 2);
  EXPECT_EQ(turned.reduction, 2);
}

TEST(LargeJpeg, NoMorePixelsThanAnEighthOfTheSidesAllows) {
  if (!reads_large_jpeg()) GTEST_SKIP() << "built without libjpeg-turbo";
  const auto flat = [](std::int64_t, std::int64_t) { return 128; };
  const GreyImage eighth = decode_grey(grey_jpeg(65500, 48, flat));
  EXPECT_EQ(eighth.reduction, 8);
  EXPECT_EQ(eighth.width, 8188);
  EXPECT_EQ(eighth.pixels, Bytes(8188 * 6, 128));
  EXPECT_EQ(decode_grey(grey_jpeg(17000, 48, flat)).reduction, 4);
  expect_refused(tables().frame(kSequential, 65535, 65535, {{1, 0x11, 0}}).finish(),
                 "dimensions 65535 x 65535: expected 1 to 65536 a side and at most 3200000000");
  expect_refused(grey_jpeg(65535, 8, flat), "65535 x 8 pixels, and 65500 a side are the most");
}

TEST(LargeJpeg, WhatNeedsTooMuchMemoryIsRefused) {
  if (!reads_large_jpeg()) GTEST_SKIP() << "built without libjpeg-turbo";
  Bytes progressive = tables().frame(kInScans, 20000, 20000, {{1, 0x11, 0}}).finish();
  progressive.resize(1 << 20);
  expect_refused(progressive, "several scans, which need 800000000 bytes, at most 600000000");
  Bytes in_scans = tables()
                       .frame(kSequential, 20000, 12000, {{1, 0x11, 0}, {2, 0x11, 0}, {3, 0x11, 0}})
                       .scan({{1, 0}}, 0, 63, 0,
                             blocks_of(2500, 1500, [](std::int64_t, std::int64_t) { return 128; }))
                       .scan({{2, 0}}, 0, 63, 0, {})
                       .finish();
  in_scans.resize(2 << 20);
  expect_refused(in_scans, "several scans, which need 1440000000 bytes");
  expect_refused(
      tables()
          .frame(kSequential, 16384, 8, {{1, 0x11, 0}, {2, 0x11, 0}, {3, 0x11, 0}, {4, 0x11, 0}})
          .scan({{1, 0}, {2, 0}, {3, 0}, {4, 0}}, 0, 63, 0, Bytes(2048))
          .finish(),
      "16384 x 8 pixels in CMYK");
}

TEST(LargeJpeg, ProgressiveFilesAreRead) {
  if (!reads_large_jpeg()) GTEST_SKIP() << "built without libjpeg-turbo";
  const Bytes jpeg = tables()
                         .frame(kInScans, 8200, 8, {{1, 0x11, 0}})
                         .scan({{1, 0}}, 0, 0, 0, Bytes(1025 / 8 + 1))
                         .finish();
  EXPECT_EQ(decode_grey(jpeg).pixels, Bytes(4100 * 4, 128));
}

TEST(LargeJpeg, DamageIsRefused) {
  if (!reads_large_jpeg()) GTEST_SKIP() << "built without libjpeg-turbo";
  const Bytes whole = grey_jpeg(8200, 64, with_black_corner);
  ASSERT_TRUE(can_be_decoded(whole));
  const std::size_t step = whole.size() / 200;
  for (std::size_t n = 0; n < whole.size(); n += step) {
    EXPECT_FALSE(can_be_decoded(std::span(whole).first(n))) << n;
    Bytes damaged = whole;
    damaged[n] ^= 0xff;
    can_be_decoded(damaged);  // no other error than Error{data}
  }
}

}  // namespace
}  // namespace weft::data

// SPDX-License-Identifier: MIT
// TIFF, HEIC and AVIF files as Pillow and tifffile write them, and what is refused. They show the
// picture of colour.gif.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/data/picture/pictures.h"

namespace weft::data {
namespace {

using test::can_be_decoded;
using test::corpus_file;
using test::decode_grey;
using test::expect_refused;

RgbImage expected() {
  return decode_rgb_image(corpus_file("colour.gif"), "x");
}

double distance(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  if (a.size() != b.size() || a.empty()) return 255;
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(static_cast<double>(a[i]) - b[i]);
  return sum / static_cast<double>(a.size());
}

// The mean difference of a channel.
double distance(const RgbImage& a, const RgbImage& b) {
  return std::max({distance(a.red, b.red), distance(a.green, b.green), distance(a.blue, b.blue)});
}

TEST(Tiff, IsReadWhateverItsCompression) {
  if (!reads_tiff()) {
    expect_refused(corpus_file("colour.tif"), "TIFF, which this program was built without");
    return;
  }
  for (const char* name : {"colour.tif", "lzw.tif", "deep-rgb.tif"}) {
    EXPECT_EQ(distance(decode_rgb_image(corpus_file(name), "x"), expected()), 0) << name;
  }
  EXPECT_LT(distance(decode_rgb_image(corpus_file("jpeg.tif"), "x"), expected()), 25);
  EXPECT_LT(distance(decode_rgb_image(corpus_file("palette.tif"), "x"), expected()), 25);
  const RgbImage tiles = decode_rgb_image(corpus_file("tiles.tif"), "x");
  EXPECT_EQ(tiles.width, 36);
  EXPECT_EQ(tiles.height, 44);
  for (std::size_t i = 0; i < tiles.red.size(); ++i) {
    ASSERT_EQ(tiles.red[i], expected().red[i / 36 % 11 * 9 + i % 36 % 9]) << i;
  }
}

TEST(Tiff, GreyOfAnyDepthLiesUpright) {
  if (!reads_tiff()) GTEST_SKIP() << "built without libtiff";
  // 16 bits a sample, of which 12 are used.
  const GreyImage deep = decode_grey(corpus_file("deep.tif"));
  EXPECT_EQ(deep.depth.bits, 12);
  EXPECT_LT(distance(deep.pixels, expected().grey), 1.5);
  // Its rows are columns of the picture.
  const GreyImage turned = decode_grey(corpus_file("on-its-side.tif"));
  ASSERT_EQ(turned.width, 11);
  ASSERT_EQ(turned.height, 9);
  EXPECT_NEAR(turned.pixels[10], expected().grey[0], 1);  // the first pixel is at the upper right
  EXPECT_NEAR(turned.pixels[0], expected().grey[10 * 9], 1);
  const GreyImage fax = decode_grey(corpus_file("fax.tif"));
  for (std::size_t i = 0; i < fax.pixels.size(); ++i) {
    if (std::abs(expected().grey[i] - 128) < 3) continue;
    EXPECT_EQ(fax.pixels[i], expected().grey[i] > 128 ? 255 : 0) << i;
  }
}

TEST(Tiff, AlphaLiesOnAGround) {
  if (!reads_tiff()) GTEST_SKIP() << "built without libtiff";
  // Alpha is 255 in the left column and falls by 20 from one to the next.
  const RgbImage over_white = decode_rgb_image(corpus_file("alpha.tif"), "x");
  EXPECT_EQ(over_white.grey[0], expected().grey[0]);
  EXPECT_NEAR(over_white.grey[8], (expected().grey[8] * 95 + 255 * 160) / 255, 3);
}

TEST(Tiff, WhatIsNoPictureIsRefused) {
  if (!reads_tiff()) GTEST_SKIP() << "built without libtiff";
  expect_refused(corpus_file("pages.tif"), "a TIFF of several pages");
  expect_refused(corpus_file("floats.tif"), "32 bits a sample");
  expect_refused(test::text(std::string("II*\0\x10\0\0\0CR\2\0....", 16)), "raw file (CR2)");
  expect_refused(test::text(std::string("MM\0*\0\0\0\x08", 8)), "libtiff says");
  for (const char* name : {"colour.tif", "lzw.tif", "deep.tif", "on-its-side.tif", "tiles.tif"}) {
    const Bytes whole = corpus_file(name);
    ASSERT_TRUE(can_be_decoded(whole)) << name;
    for (std::size_t n = 0; n < whole.size(); n += 1 + n / 64) {
      can_be_decoded(std::span(whole).first(n));  // no other error than Error{data}
      Bytes damaged = whole;
      damaged[n] ^= 0xff;
      can_be_decoded(damaged);
    }
  }
}

TEST(Heif, HeicAndAvifAreReadOrRefusedByName) {
  for (const char* name : {"colour.heic", "colour.avif"}) {
    SCOPED_TRACE(name);
    if (!reads_heif()) {
      expect_refused(corpus_file(name), "HEIC or AVIF, which this program was built without");
      continue;
    }
    EXPECT_LT(distance(decode_rgb_image(corpus_file(name), "x"), expected()), 6);
    const Bytes whole = corpus_file(name);
    for (std::size_t n = 0; n < whole.size(); n += 7) {
      can_be_decoded(std::span(whole).first(n));
      Bytes damaged = whole;
      damaged[n] ^= 0xff;
      can_be_decoded(damaged);
    }
  }
}

}  // namespace
}  // namespace weft::data

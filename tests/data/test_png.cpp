// SPDX-License-Identifier: MIT
// PNG files of every kind of sample, and every kind of damage.
#include "tests/data/pictures.h"

namespace weft::data {
namespace {

using test::can_be_decoded;
using test::corpus_file;
using test::decode_grey;
using test::deflated;
using test::expect_refused;
using test::make_png;
using test::png_header;
using test::png_of;
using test::PngParts;

Bytes grey_of(const PngParts& parts) {
  return decode_grey(make_png(parts)).pixels;
}

TEST(Png, FewBitsAreScaledToBytes) {
  EXPECT_EQ(grey_of({.width = 9, .depth = 1, .rows = {0, 0b10100000, 0x80}}),
            (Bytes{255, 0, 255, 0, 0, 0, 0, 0, 255}));
  EXPECT_EQ(grey_of({.width = 5, .depth = 2, .rows = {0, 0b00011011, 0xc0}}),
            (Bytes{0, 85, 170, 255, 255}));
  EXPECT_EQ(grey_of({.width = 3, .depth = 4, .rows = {0, 0x07, 0xf0}}), (Bytes{0, 119, 255}));
  EXPECT_EQ(grey_of({.width = 2, .depth = 16, .rows = {0, 0x12, 0xff, 0xff, 0x00}}),
            (Bytes{0x12, 0xff}));
}

TEST(Png, Filters) {
  const PngParts parts{.width = 3, .height = 5, .rows = {0, 10,  20,  30,   //
                                                         1, 10,  10,  10,   // left: 10 20 30
                                                         2, 1,   1,   1,    // above: 11 21 31
                                                         3, 250, 1,   1,    // mean: 255 139 86
                                                         4, 1,   255, 0}};  // Paeth: 0 255 255
  EXPECT_EQ(grey_of(parts), (Bytes{10, 20, 30, 10, 20, 30, 11, 21, 31, 255, 139, 86, 0, 255, 255}));
  expect_refused(make_png({.rows = {5, 0}}), "filter 5");
}

TEST(Png, SamePixelsInEveryForm) {
  const GreyImage grey = decode_grey(corpus_file("grey.pgm"));
  for (const char* name : {"grey.png", "ilg.png"}) {
    EXPECT_EQ(decode_grey(corpus_file(name)).pixels, grey.pixels) << name;
  }
  const RgbImage colour = decode_rgb_image(corpus_file("rgb.ppm"), "x");
  for (const char* name : {"rgb.png", "rgb16.png", "ilrgb.png", "rgba.png", "rgb.bmp"}) {
    const RgbImage other = decode_rgb_image(corpus_file(name), "x");
    EXPECT_EQ(other.red, colour.red) << name;
    EXPECT_EQ(other.green, colour.green) << name;
    EXPECT_EQ(other.blue, colour.blue) << name;
  }
}

TEST(Png, Palette) {
  PngParts parts{.width = 3, .depth = 2, .colour = test::kPngIndexed};
  parts.palette = {0, 0, 0, 255, 255, 255, 255, 0, 0};
  parts.rows = {0, 0b00011000};
  EXPECT_EQ(grey_of(parts), (Bytes{0, 255, 76}));
  parts.transparency = {0};  // the first colour; the others are opaque
  EXPECT_EQ(grey_of(parts), (Bytes{255, 255, 76}));
  parts.rows = {0, 0b00011100};
  expect_refused(make_png(parts), "a pixel has colour 3 of a palette of 3");
  parts.width = 2;                             // the bits of padding are nobody's pixel
  EXPECT_EQ(grey_of(parts), (Bytes{0, 255}));  // white lies on black
  parts.transparency = {1, 2, 3, 4};
  expect_refused(make_png(parts), "(tRNS) of 4 bytes, expected at most 3");
  parts.transparency = {};
  parts.palette.push_back(0);
  expect_refused(make_png(parts), "palette of 10 bytes");
  parts.palette.resize(3 * 257);
  expect_refused(make_png(parts), "palette of 771 bytes");
  parts.palette = {};
  expect_refused(make_png(parts), "(PLTE), which is missing");
}

TEST(Png, TransparentColours) {
  EXPECT_EQ(grey_of({.width = 2, .transparency = {0, 7}, .rows = {0, 7, 8}}), (Bytes{255, 8}));
  EXPECT_EQ(grey_of({.width = 2, .depth = 16, .transparency = {1, 2}, .rows = {0, 1, 2, 1, 3}}),
            (Bytes{255, 1}));
  EXPECT_EQ(grey_of({.width = 2,
                     .colour = test::kPngRgb,
                     .transparency = {0, 0, 0, 0, 0, 9},
                     .rows = {0, 0, 0, 9, 0, 0, 0}}),
            (Bytes{255, 0}));
  expect_refused(make_png({.transparency = {0}, .rows = {0, 0}}), "(tRNS) of 1 bytes, expected 2");
  expect_refused(
      make_png({.colour = test::kPngRgbAlpha, .transparency = {0, 0}, .rows = {0, 0, 0, 0, 0}}),
      "where none is expected");
}

TEST(Png, Headers) {
  const auto refused = [](const PngParts& parts, const std::string& part) {
    expect_refused(make_png(parts), part);
  };
  refused({.width = 0, .rows = {0, 0}}, "0 x 1");
  refused({.width = 60000, .height = 60000, .rows = {0, 0}}, "60000 x 60000");
  refused({.width = 0xffffffff, .height = 0xffffffff, .rows = {0}}, "4294967295 x 4294967295");
  refused({.depth = 3, .rows = {0, 0}}, "3 bits");
  refused({.depth = 4, .colour = test::kPngRgb, .rows = {0, 0}}, "colour type 2, 4 bits");
  refused({.depth = 16, .colour = test::kPngIndexed, .rows = {0, 0}}, "colour type 3, 16 bits");
  refused({.colour = 1, .rows = {0, 0}}, "colour type 1");
  refused({.interlace = 2, .rows = {0, 0}}, "interlace 2");
}

TEST(Png, Chunks) {
  const PngParts parts{.rows = {0, 77}};
  const Bytes header = png_header(parts), pixels = deflated(parts.rows);
  EXPECT_TRUE(can_be_decoded(png_of({{"IHDR", header}, {"tEXt", {1, 2}}, {"IDAT", pixels}})));
  // The stream may be cut anywhere, also into nothing.
  const auto cut = pixels.begin() + 3;
  EXPECT_TRUE(can_be_decoded(png_of({{"IHDR", header},
                                     {"IDAT", {pixels.begin(), cut}},
                                     {"IDAT", {}},
                                     {"IDAT", {cut, pixels.end()}}})));
  expect_refused(png_of({}), "stands where the header");
  expect_refused(png_of({{"IDAT", pixels}}), "stands where the header");
  expect_refused(png_of({{"IHDR", header}, {"IHDR", header}, {"IDAT", pixels}}),
                 "stands where the header");
  expect_refused(png_of({{"CgBI", {}}, {"IHDR", header}, {"IDAT", pixels}}), "Apple's variant");
  expect_refused(png_of({{"IHDR", {1, 2}}}), "a header of 2 bytes");
  expect_refused(png_of({{"IHDR", header}}), "no pixel data");
  expect_refused(png_of({{"IHDR", header}, {"ABCD", {}}, {"IDAT", pixels}}), "the chunk ABCD");
  expect_refused(png_of({{"IHDR", header}, {"IDAT", pixels}, {"PLTE", {1, 2, 3}}}),
                 "a palette stands where none is expected");
  Bytes endless = png_of({{"IHDR", header}, {"IDAT", pixels}});
  endless.resize(endless.size() - 12);  // without IEND
  expect_refused(endless, "a PNG chunk is cut off");
  Bytes claims = png_of({{"IHDR", header}, {"IDAT", pixels}});
  claims[33] = 0xff;  // the first byte of IDAT's length
  expect_refused(claims, "chunk IDAT claims");
}

TEST(Png, PixelData) {
  const auto with_data = [](const Bytes& data) {
    return png_of({{"IHDR", png_header({.width = 4, .height = 4})}, {"IDAT", data}});
  };
  const Bytes good = deflated(Bytes(20));
  EXPECT_TRUE(can_be_decoded(with_data(good)));
  EXPECT_TRUE(can_be_decoded(with_data(deflated(Bytes(1000)))));  // some programs pad
  expect_refused(with_data(deflated(Bytes(19))), "ends early");
  expect_refused(with_data({good.begin(), good.begin() + 4}), "ends early");
  expect_refused(with_data(deflated(Bytes(100'000))), "more than the picture needs");
  expect_refused(with_data({1, 2, 3, 4}), "cannot be inflated");
  // What 20 bytes can never inflate to is refused before memory is taken.
  expect_refused(
      png_of({{"IHDR", png_header({.width = 7000, .height = 7000})}, {"IDAT", Bytes(20)}}),
      "7000 x 7000 pixels need 49007000 bytes, its 20 bytes");
}

TEST(Png, NoDamageIsFatal) {
  for (const char* name : {"ilrgb.png", "pal4.png", "rgbtr.png", "bw.png"}) {
    const Bytes whole = corpus_file(name);
    ASSERT_TRUE(can_be_decoded(whole)) << name;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      EXPECT_FALSE(can_be_decoded(std::span(whole).first(i))) << name << " " << i;
      for (const int flip : {0x01, 0x10, 0x80, 0xff}) {
        Bytes damaged = whole;
        damaged[i] ^= static_cast<std::uint8_t>(flip);
        can_be_decoded(damaged);
      }
    }
  }
}

}  // namespace
}  // namespace weft::data

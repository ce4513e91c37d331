// SPDX-License-Identifier: MIT
// PNG files of every kind of sample, and every kind of damage.
#include <algorithm>

#include "tests/data/picture/pictures.h"

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

// Two bytes for each sample, after the filter of the one row.
Bytes deep_row(const std::vector<int>& samples) {
  Bytes row = {0};
  for (const int sample : samples) {
    row.push_back(static_cast<std::uint8_t>(sample >> 8));
    row.push_back(static_cast<std::uint8_t>(sample));
  }
  return row;
}

TEST(Png, SixteenBitsMayHoldFewer) {
  const auto image_of = [](const std::vector<int>& samples, int sample_bits = 0) {
    const PngParts parts{.width = static_cast<std::uint32_t>(samples.size()),
                         .depth = 16,
                         .rows = deep_row(samples)};
    return decode_grey_image(make_png(parts), "x", sample_bits);
  };
  const auto expect = [&](const std::vector<int>& samples, int bits, const Bytes& pixels) {
    const GreyImage image = image_of(samples);
    EXPECT_EQ(image.depth.bits, bits);
    EXPECT_EQ(image.depth.peak, *std::max_element(samples.begin(), samples.end()));
    EXPECT_EQ(image.pixels, pixels);
  };
  expect({0, 2048, 4095}, 12, {0, 128, 255});
  expect({0, 512, 1000}, 10, {0, 128, 250});
  expect({0, 128, 255}, 8, {0, 128, 255});
  expect({0, 8192, 16383}, 14, {0, 128, 255});
  expect({0, 128 << 8, 255 << 8}, 16, {0, 128, 255});
  expect({0, 4095, 40000}, 16, {0, 15, 156});
  expect({0, 0}, 16, {0, 0});
  EXPECT_EQ(image_of({0, 2048, 4095}).depth.assumption(),
            "its largest sample is 4095, so that white is taken to be 4095");
  EXPECT_EQ(image_of({0, 65535}).depth.assumption(), "");
  // What the caller knows goes before what is measured, where it can be true.
  EXPECT_EQ(image_of({0, 512, 1000}, 12).pixels, (Bytes{0, 32, 62}));
  EXPECT_EQ(image_of({0, 512, 1000}, 16).pixels, (Bytes{0, 2, 3}));
  EXPECT_EQ(image_of({0, 40000}, 12).pixels, (Bytes{0, 156}));
  EXPECT_EQ(image_of({0, 1000}, 12).depth.assumption(), "");
}

TEST(Png, SignificantBitsAreObeyed) {
  const auto image_of = [](const std::vector<int>& samples, const Bytes& bits,
                           int sample_bits = 0) {
    const PngParts parts{.width = static_cast<std::uint32_t>(samples.size()), .depth = 16};
    return decode_grey_image(
        png_of(
            {{"IHDR", png_header(parts)}, {"sBIT", bits}, {"IDAT", deflated(deep_row(samples))}}),
        "x", sample_bits);
  };
  EXPECT_EQ(image_of({0, 512, 1000}, {12}).pixels, (Bytes{0, 32, 62}));
  EXPECT_EQ(image_of({0, 512, 1000}, {12}, 10).pixels, (Bytes{0, 32, 62}));
  EXPECT_EQ(image_of({0, 512, 1000}, {16}).pixels, (Bytes{0, 2, 3}));
  EXPECT_EQ(image_of({0, 1000}, {12}).depth.assumption(), "");
  // As the standard asks, scaled up to 16 bits.
  EXPECT_EQ(image_of({0, 0x8008, 0xffff}, {12}).pixels, (Bytes{0, 128, 255}));
  for (const Bytes& damaged : {Bytes{}, Bytes{0}, Bytes{17}}) {
    EXPECT_EQ(image_of({0, 2048, 4095}, damaged).pixels, (Bytes{0, 128, 255}));
  }
}

TEST(Png, AlphaHasItsOwnRange) {
  const auto picture_of = [](const std::vector<int>& samples) {
    const PngParts parts{.depth = 16, .colour = test::kPngRgbAlpha, .rows = deep_row(samples)};
    return decode_rgb_image(make_png(parts), "x");
  };
  for (const int opaque : {65535, 4095}) {
    const RgbImage image = picture_of({4095, 2048, 0, opaque});
    EXPECT_EQ(image.depth.bits, 12);
    EXPECT_EQ(image.red, Bytes{255}) << opaque;
    EXPECT_EQ(image.green, Bytes{128}) << opaque;
    EXPECT_EQ(image.blue, Bytes{0}) << opaque;
  }
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
  EXPECT_EQ(
      grey_of({.width = 3, .depth = 16, .transparency = {1, 2}, .rows = {0, 1, 2, 1, 3, 0xff, 0}}),
      (Bytes{255, 1, 255}));
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

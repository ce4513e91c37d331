// SPDX-License-Identifier: MIT
// GIF and WebP files of every kind, and every kind of damage.
#include <algorithm>
#include <map>

#include "tests/data/picture/pictures.h"

namespace weft::data {
namespace {

using test::append;
using test::append_little_endian;
using test::can_be_decoded;
using test::corpus_file;
using test::decode_grey;
using test::expect_refused;
using test::text;

// What a GIF's LZW makes of palette indices: a full table is started afresh, or kept.
Bytes lzw(const Bytes& pixels, int root_bits, bool clears) {
  Bytes out;
  unsigned window = 0, window_bits = 0;
  const unsigned clear = 1u << root_bits;
  std::map<Bytes, unsigned> codes;
  unsigned next = 0;
  int bits = 0;
  const auto start = [&] {
    codes.clear();
    for (unsigned i = 0; i < clear; ++i) codes[{static_cast<std::uint8_t>(i)}] = i;
    next = clear + 2;
    bits = root_bits + 1;
  };
  const auto put = [&](unsigned code) {
    window |= code << window_bits;
    for (window_bits += static_cast<unsigned>(bits); window_bits >= 8; window_bits -= 8) {
      out.push_back(static_cast<std::uint8_t>(window));
      window >>= 8;
    }
  };
  start();
  put(clear);
  Bytes string;
  for (const std::uint8_t pixel : pixels) {
    string.push_back(pixel);
    if (codes.contains(string)) continue;
    put(codes.at({string.begin(), string.end() - 1}));
    if (next < 4096) {
      codes[string] = next;
      if (next++ == 1u << bits && bits < 12) ++bits;
    } else if (clears) {
      put(clear);
      start();
    }
    string = {pixel};
  }
  if (!string.empty()) put(codes.at(string));
  put(clear + 1);
  if (window_bits > 0) out.push_back(static_cast<std::uint8_t>(window));
  return out;
}

struct GifParts {
  std::uint32_t width = 1, height = 1;                                 // of the frame
  std::uint32_t left = 0, top = 0, inner_width = 0, inner_height = 0;  // 0: the whole frame
  int palette_bits = 1;
  bool own_palette = false, interlaced = false;
  int transparent = -1;
  int root_bits = 2;
  Bytes pixels = {};  // packed, unless `data` is given
  Bytes data = {};
  bool clears = true;
};

// Colour i of its palette is (i, i, i), or (i + 100, ...) in a picture's own.
Bytes make_gif(const GifParts& parts) {
  Bytes gif = text("GIF89a");
  const auto put_palette = [&](int shift) {
    for (int i = 0; i < 1 << parts.palette_bits; ++i) {
      gif.insert(gif.end(), 3, static_cast<std::uint8_t>(i + shift));
    }
  };
  append_little_endian(gif, parts.width, 2);
  append_little_endian(gif, parts.height, 2);
  const int palette = parts.palette_bits > 0 ? 0x80 | (parts.palette_bits - 1) : 0;
  append(gif, {static_cast<std::uint8_t>(parts.own_palette ? 0 : palette), 0, 0});
  if (palette != 0 && !parts.own_palette) put_palette(0);
  append(gif, {0x21, 0xfe, 2, 'h', 'i', 0});  // a comment
  if (parts.transparent >= 0) {
    append(gif, {0x21, 0xf9, 4, 1, 0, 0, static_cast<std::uint8_t>(parts.transparent), 0});
  }
  gif.push_back(0x2c);
  for (const std::uint32_t value :
       {parts.left, parts.top, parts.inner_width > 0 ? parts.inner_width : parts.width,
        parts.inner_height > 0 ? parts.inner_height : parts.height}) {
    append_little_endian(gif, value, 2);
  }
  gif.push_back(
      static_cast<std::uint8_t>((parts.own_palette ? palette : 0) | (parts.interlaced ? 0x40 : 0)));
  if (palette != 0 && parts.own_palette) put_palette(100);
  gif.push_back(static_cast<std::uint8_t>(parts.root_bits));
  const Bytes data =
      parts.data.empty() ? lzw(parts.pixels, parts.root_bits, parts.clears) : parts.data;
  for (std::size_t at = 0; at < data.size(); at += 255) {
    const std::size_t size = std::min<std::size_t>(255, data.size() - at);
    gif.push_back(static_cast<std::uint8_t>(size));
    gif.insert(gif.end(), data.begin() + static_cast<std::ptrdiff_t>(at),
               data.begin() + static_cast<std::ptrdiff_t>(at + size));
  }
  append(gif, {0, 0x3b});
  return gif;
}

Bytes grey_of(const GifParts& parts) {
  return decode_grey(make_gif(parts)).pixels;
}

TEST(Gif, EveryPixelOfEveryTable) {
  // Noise fills the table of 4096 codes some times over, and runs make the longest strings.
  Bytes noise(200 * 190), runs(200 * 190, 1);
  std::uint32_t state = 1;
  for (std::uint8_t& pixel : noise) {
    state = state * 1664525 + 1013904223;
    pixel = static_cast<std::uint8_t>(state >> 24);
  }
  for (std::size_t i = 9000; i < 9100; ++i) runs[i] = 0;
  for (const bool clears : {true, false}) {
    GifParts parts{.width = 200, .height = 190, .palette_bits = 8, .root_bits = 8};
    parts.clears = clears;
    parts.pixels = noise;
    EXPECT_TRUE(grey_of(parts) == noise) << clears;
    parts.pixels = runs;
    EXPECT_TRUE(grey_of(parts) == runs) << clears;
    parts.root_bits = 2;
    EXPECT_TRUE(grey_of(parts) == runs) << clears;
  }
}

TEST(Gif, RowsPalettesAndTransparency) {
  GifParts parts{.height = 10, .palette_bits = 4, .root_bits = 4};
  parts.interlaced = true;
  parts.pixels = {0, 8, 4, 2, 6, 1, 3, 5, 7, 9};
  EXPECT_EQ(grey_of(parts), (Bytes{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  parts = {.width = 2, .own_palette = true, .pixels = {0, 1}};
  EXPECT_EQ(grey_of(parts), (Bytes{100, 101}));
  EXPECT_EQ(grey_of({.width = 2, .transparent = 1, .pixels = {0, 1}}), (Bytes{0, 255}));
  parts = {.width = 3, .height = 3, .left = 1, .top = 1, .inner_width = 2, .inner_height = 1};
  parts.pixels = {1, 0};
  EXPECT_EQ(grey_of(parts), (Bytes{255, 255, 255, 255, 1, 0, 255, 255, 255}));
}

TEST(Gif, FilesOfOtherPrograms) {
  const RgbImage colour = decode_rgb_image(corpus_file("colour.gif"), "x");
  ASSERT_EQ(colour.width, 9);
  ASSERT_EQ(colour.height, 11);
  for (std::size_t i = 0; i < 99; ++i) {
    const std::size_t x = i % 9, y = i / 9;
    EXPECT_EQ(colour.red[i], x * 28);
    EXPECT_EQ(colour.green[i], y * 23);
    EXPECT_EQ(colour.blue[i], x * y % 4 * 80);
  }
  for (const char* name : {"interlaced.gif", "animated.gif"}) {
    const RgbImage same = decode_rgb_image(corpus_file(name), "x");
    EXPECT_TRUE(same.red == colour.red && same.blue == colour.blue) << name;
  }
  EXPECT_EQ(decode_grey(corpus_file("transparent.gif")).pixels[0], 255);
}

TEST(Gif, DamageIsRefused) {
  const auto refused = [](const GifParts& parts, const std::string& part) {
    expect_refused(make_gif(parts), part);
  };
  refused({.pixels = {2}}, "a pixel has colour 2 of a palette of 2");
  refused({.palette_bits = 0, .pixels = {0}}, "a pixel has colour 0 of a palette of 0");
  refused({.width = 2, .pixels = {1}}, "its pixel data ends early");
  refused({.width = 9, .height = 9, .data = {0x44}}, "its pixel data ends early");
  refused({.data = {0b00110100}}, "code 6 of its pixel data is not defined");
  refused({.root_bits = 1, .data = {1}}, "pixels of 1 bits");
  refused({.root_bits = 9, .data = {1}}, "pixels of 9 bits");
  refused({.left = 1, .pixels = {1}}, "is outside of its frame of 1 x 1");
  refused({.width = 8000, .height = 6000, .inner_width = 1, .inner_height = 1, .pixels = {1}},
          "8000 x 6000 pixels do not fit in the 2 bytes");
  refused({.width = 60000, .height = 60000, .pixels = {1}}, "60000 x 60000");
  refused({.width = 0, .pixels = {}}, "0 x 1");
  expect_refused(text(std::string("GIF89a\1\0\1\0\0\0\0\x3b", 14)), "it has no picture");
  expect_refused(text(std::string("GIF89a\1\0\1\0\0\0\0\1", 14)), "block 1 is no GIF's");
}

TEST(Gif, EveryTruncationIsRefused) {
  const Bytes whole = make_gif({.width = 3, .height = 2, .pixels = {0, 1, 0, 1, 1, 0}});
  ASSERT_TRUE(can_be_decoded(whole));
  for (std::size_t n = 0; n + 1 < whole.size(); ++n) {  // the last byte says that nothing follows
    EXPECT_FALSE(can_be_decoded(std::span(whole).first(n))) << n;
  }
}

TEST(WebP, IsReadOrRefusedByName) {
  if (!reads_webp()) {
    for (const char* name : {"lossless.webp", "lossy.webp", "animated.webp"}) {
      expect_refused(corpus_file(name), "WebP, which this program was built without");
    }
    return;
  }
  const RgbImage same = decode_rgb_image(corpus_file("colour.gif"), "x");
  const RgbImage lossless = decode_rgb_image(corpus_file("lossless.webp"), "x");
  EXPECT_TRUE(lossless.red == same.red && lossless.green == same.green &&
              lossless.blue == same.blue);
  const GreyImage lossy = decode_grey(corpus_file("lossy.webp"));
  ASSERT_EQ(lossy.pixels.size(), same.grey.size());
  double sum = 0;
  for (std::size_t i = 0; i < same.grey.size(); ++i) {
    sum += std::abs(static_cast<double>(lossy.pixels[i]) - same.grey[i]);
  }
  EXPECT_LT(sum / 99, 20);
  // Alpha is 255 in the left column and falls by 20 from one to the next.
  const RgbImage over_white = decode_rgb_image(corpus_file("lossless-alpha.webp"), "x");
  EXPECT_EQ(over_white.grey[0], same.grey[0]);
  EXPECT_NEAR(over_white.grey[8], (same.grey[8] * 95 + 255 * 160) / 255, 2);
  EXPECT_EQ(decode_grey(corpus_file("lossy-alpha.webp")).width, 9);
}

void append_riff_chunk(Bytes& file, const std::string& name, const Bytes& content) {
  append(file, text(name));
  append_little_endian(file, static_cast<std::uint32_t>(content.size()), 4);
  append(file, content);
  if (content.size() % 2 == 1) file.push_back(0);
}

// lossless.webp, 9 x 11 pixels, with an EXIF chunk behind it.
Bytes webp_with(const Bytes& exif) {
  const Bytes plain = corpus_file("lossless.webp");
  Bytes features = {8, 0, 0, 0, 8, 0, 0, 10, 0, 0};  // has Exif; width - 1 and height - 1
  Bytes file = text("WEBP");
  append_riff_chunk(file, "VP8X", features);
  append(file, Bytes(plain.begin() + 12, plain.end()));
  append_riff_chunk(file, "abcd", {1, 2, 3});
  append_riff_chunk(file, "EXIF", exif);
  Bytes riff = text("RIFF");
  append_little_endian(riff, static_cast<std::uint32_t>(file.size()), 4);
  append(riff, file);
  return riff;
}

// The same pixels with the same orientation in a PNG.
Bytes png_with(const RgbImage& image, const Bytes& exif) {
  test::PngParts parts{.width = static_cast<std::uint32_t>(image.width),
                       .height = static_cast<std::uint32_t>(image.height),
                       .colour = test::kPngRgb};
  for (std::size_t i = 0; i < image.red.size(); ++i) {
    if (i % parts.width == 0) parts.rows.push_back(0);
    append(parts.rows, {image.red[i], image.green[i], image.blue[i]});
  }
  return test::png_of(
      {{"IHDR", test::png_header(parts)}, {"eXIf", exif}, {"IDAT", test::deflated(parts.rows)}});
}

TEST(WebP, ExifOrientationIsApplied) {
  if (!reads_webp()) return;
  const RgbImage plain = decode_rgb_image(corpus_file("lossless.webp"), "x");
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Bytes exif = test::exif_block(orientation, orientation % 2 == 0 ? "MM" : "II");
    const RgbImage expected = decode_rgb_image(png_with(plain, exif), "x");
    Bytes prefixed = text(std::string("Exif\0\0", 6));
    append(prefixed, exif);
    for (const Bytes& content : {exif, prefixed}) {
      const RgbImage image = decode_rgb_image(webp_with(content), "x");
      EXPECT_EQ(image.width, expected.width) << orientation;
      EXPECT_EQ(image.height, expected.height) << orientation;
      EXPECT_EQ(image.red, expected.red) << orientation;
      EXPECT_EQ(image.blue, expected.blue) << orientation;
    }
  }
}

TEST(WebP, DamagedExifIsNoOrientation) {
  if (!reads_webp()) return;
  EXPECT_EQ(decode_grey(webp_with({})).width, 9);
  EXPECT_EQ(decode_grey(webp_with(text("Exif"))).width, 9);
  EXPECT_EQ(decode_grey(webp_with(test::exif_block(6))).width, 11);
  Bytes file = webp_with(test::exif_block(6));
  file[file.size() - test::exif_block(6).size() - 3] = 1;  // the chunk claims 16 MiB more
  EXPECT_EQ(decode_grey(file).width, 9);
}

TEST(WebP, DamageIsRefused) {
  if (!reads_webp()) GTEST_SKIP() << "built without libwebp";
  expect_refused(corpus_file("animated.webp"), "an animated WebP");
  for (const char* name : {"lossless.webp", "lossy.webp", "lossy-alpha.webp"}) {
    const Bytes whole = corpus_file(name);
    for (std::size_t n = 0; n < whole.size(); ++n) {
      const bool decoded = can_be_decoded(std::span(whole).first(n));
      EXPECT_FALSE(decoded && n + 4 < whole.size()) << name << " " << n;  // padding may be missing
    }
  }
  // 16383 x 16383 pixels, and 8000 x 6000 of one colour.
  Bytes claims = corpus_file("lossless.webp");
  claims[21] = claims[22] = claims[23] = 0xff;
  claims[24] = 0x0f;
  expect_refused(claims, "16384 x 16384");
  claims[21] = 0x3f;  // 14 bits of width - 1, then 14 of height - 1
  claims[22] = 0x1f | 0xc0;
  claims[23] = 0xdb;
  claims[24] = 0x05;
  expect_refused(claims, "8000 x 6000 pixels in 74 bytes");
  expect_refused(text(std::string("RIFF\4\0\0\0WEBP", 12)), "the WebP header is cut off or wrong");
  expect_refused(text(std::string("RIFF\4\0\0\0WAVE", 12)), "not a picture in a known format");
}

}  // namespace
}  // namespace weft::data

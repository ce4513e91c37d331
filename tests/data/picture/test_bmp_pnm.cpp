// SPDX-License-Identifier: MIT
// BMP and PNM files of every kind, and every kind of damage.
#include <limits>

#include "tests/data/picture/pictures.h"

namespace weft::data {
namespace {

using test::append_little_endian;
using test::BmpParts;
using test::can_be_decoded;
using test::decode_grey;
using test::expect_refused;
using test::make_bmp;
using test::text;

Bytes grey_of(const BmpParts& parts) {
  return decode_grey(make_bmp(parts)).pixels;
}

Bytes words(std::initializer_list<std::uint32_t> values, int bytes) {
  Bytes out;
  for (const std::uint32_t value : values) append_little_endian(out, value, bytes);
  return out;
}

TEST(Bmp, Palettes) {
  // Blue, green, red, spare.
  const Bytes palette = {0, 0, 0, 0, 255, 255, 255, 0, 0, 0, 255, 0};
  BmpParts parts{.width = 3, .bits = 4, .colours = 3, .more = palette, .rows = {0x01, 0x20}};
  EXPECT_EQ(grey_of(parts), (Bytes{0, 255, 76}));  // the last row needs no padding
  parts.rows = {0x01, 0x30};
  expect_refused(make_bmp(parts), "a pixel has colour 3 of a palette of 3");
  parts = {.width = 2, .height = 2, .bits = 8, .more = palette};
  parts.rows = {1, 2, 0, 0, 0, 1, 0, 0};
  EXPECT_EQ(grey_of(parts), (Bytes{0, 255, 255, 76}));
  parts = {.width = 9, .bits = 1, .colours = 2, .more = palette, .rows = {0b10100000, 0x80}};
  EXPECT_EQ(grey_of(parts), (Bytes{255, 0, 255, 0, 0, 0, 0, 0, 255}));
  parts = {.header_bytes = 12, .width = 2, .bits = 8};  // OS/2: three bytes a colour
  parts.more = {9, 9, 9, 255, 255, 255};
  parts.rows = {1, 0, 0, 0};
  EXPECT_EQ(grey_of(parts), (Bytes{255, 9}));
  parts.rows = {1, 2, 0, 0};
  expect_refused(make_bmp(parts), "a pixel has colour 2 of a palette of 2");
}

TEST(Bmp, ColourFields) {
  EXPECT_EQ(grey_of({.width = 2, .bits = 16, .rows = words({0x7fff, 0x0010}, 2)}),
            (Bytes{255, 14}));  // 5 bits each: blue 16 of 31
  BmpParts parts{.bits = 16, .compression = 3, .more = words({0xf800, 0x7e0, 0x1f}, 4)};
  parts.rows = words({0xf800}, 2);
  EXPECT_EQ(grey_of(parts), (Bytes{76}));
  parts = {.header_bytes = 108, .bits = 32, .compression = 3};
  parts.more = words({0xff, 0xff00, 0xff0000, 0xff000000}, 4);
  parts.rows = words({0x80000000}, 4);  // black, half transparent
  EXPECT_EQ(grey_of(parts), (Bytes{127}));
  // 32 bits without fields: alpha counts unless it is 0 everywhere.
  EXPECT_EQ(grey_of({.width = 2, .bits = 32, .rows = words({0, 0xff000000}, 4)}), (Bytes{255, 0}));
  EXPECT_EQ(grey_of({.width = 2, .bits = 32, .rows = words({0, 0xffffff}, 4)}), (Bytes{0, 255}));
  expect_refused(
      make_bmp({.bits = 16, .compression = 3, .more = words({0xf800, 0, 0x1f}, 4), .rows = {0, 0}}),
      "an empty mask");
}

TEST(Bmp, Headers) {
  const auto refused = [](const BmpParts& parts, const std::string& part) {
    expect_refused(make_bmp(parts), part);
  };
  const Bytes rows(4);
  refused({.header_bytes = 64, .rows = rows}, "a BMP header of 64 bytes");
  refused({.bits = 24, .compression = 1, .rows = rows}, "compression 1");
  refused({.bits = 24, .compression = 3, .rows = rows}, "compression 3 at 24 bits");
  refused({.bits = 24, .compression = 0xffffffff, .rows = rows}, "compression 4294967295");
  refused({.bits = 2, .rows = rows}, "2 bits per pixel");
  refused({.width = -1, .rows = rows}, "-1 x 1");
  refused({.height = std::numeric_limits<std::int32_t>::min(), .rows = rows}, "1 x 2147483648");
  refused({.width = 60000, .height = 60000, .rows = rows}, "60000 x 60000");
  refused({.width = 8000, .height = 6000, .rows = rows}, "8000 x 6000 pixels need 144000000 bytes");
  refused({.rows = rows, .pixels_begin = 53}, "within the header of 54");
  refused({.rows = rows, .pixels_begin = 56}, "need 3 bytes from byte 56 on of a file of 58");
  refused({.rows = rows, .pixels_begin = 0xffffffff}, "from byte 4294967295");
  refused({.bits = 8, .rows = rows}, "a palette of 0");
  const Bytes whole = make_bmp({.rows = {1, 2, 3}});
  EXPECT_TRUE(can_be_decoded(whole));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    EXPECT_FALSE(can_be_decoded(std::span(whole).first(n))) << n;
  }
}

TEST(Pnm, SamplesAreScaledToBytes) {
  EXPECT_EQ(decode_grey(text("P5 2 1 15\n\x0f\x05")).pixels, (Bytes{255, 85}));
  EXPECT_EQ(decode_grey(text(std::string("P5 2 1 65535\n\xff\xff\x80\0", 17))).pixels,
            (Bytes{255, 128}));
  EXPECT_EQ(decode_grey(text(std::string("P5 2 1 1\n\0\1", 11))).pixels, (Bytes{0, 255}));
  EXPECT_EQ(decode_grey(text("P5\n# two\n2 # sides\n1\n255\nab and more")).pixels,
            (Bytes{'a', 'b'}));
}

TEST(Pnm, DamageIsRefused) {
  expect_refused(text("P5 2 2 255\nabc"), "2 x 2 pixels need 4 bytes, found 3");
  expect_refused(text("P6 1 1 255\nab"), "1 x 1 pixels need 3 bytes, found 2");
  expect_refused(text("P5 1 1 256\na"), "need 2 bytes, found 1");
  expect_refused(text("P5 1 1 15\nz"), "a sample is 122, expected at most 15");
  expect_refused(text(std::string("P5 1 1 0\n\0", 10)), "the largest sample is 0");
  expect_refused(text("P5 1 1 65536\naa"), "the largest sample is 65536");
  expect_refused(text("P5 99999999999999999999 1 255\n"), "1000000000 x 1");
  expect_refused(text("P5 0 1 255\n"), "0 x 1");
  expect_refused(text("P5 -1 1 255\n"), "a number is missing");
  expect_refused(text("P5 1 x 255\n"), "a number is missing");
  expect_refused(text("P5 1 1 255a"), "a number is missing");
  expect_refused(text("P5 8000 6000 255\n"), "need 48000000 bytes, found 0");
  expect_refused(text("P5 1 # no end"), "the PNM header is cut off");
}

}  // namespace
}  // namespace weft::data

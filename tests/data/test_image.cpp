// SPDX-License-Identifier: MIT
// Picture files: every format in, PNG round trips, and files that must be refused.
#include "data/image.h"

#include "tests/data/files.h"

namespace weft::data {
namespace {

using test::append_big_endian;
using test::append_chunk;
using test::expect_error;
using test::text;

// A PNG whose pixel data is `rows`, deflated. Colour types: 0 grey, 2 RGB, 4 grey + alpha, 6 RGBA.
Bytes make_png(std::uint32_t width, std::uint32_t height, int colour_type, const Bytes& rows) {
  Bytes png = text("\x89PNG\r\n\x1a\n"), header;
  append_big_endian(header, width);
  append_big_endian(header, height);
  for (const int field : {8, colour_type, 0, 0, 0}) {
    header.push_back(static_cast<std::uint8_t>(field));
  }
  append_chunk(png, "IHDR", header);
  Bytes packed(compressBound(static_cast<uLong>(rows.size())));
  uLongf size = static_cast<uLongf>(packed.size());
  compress2(packed.data(), &size, rows.data(), static_cast<uLong>(rows.size()), 9);
  packed.resize(size);
  append_chunk(png, "IDAT", packed);
  append_chunk(png, "IEND", {});
  return png;
}

Bytes make_bmp(std::int32_t width, std::int32_t height, const Bytes& rows) {
  Bytes bmp = text("BM");
  const auto little_endian = [&](std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) bmp.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  };
  little_endian(static_cast<std::uint32_t>(54 + rows.size()), 4);
  little_endian(0, 4);
  little_endian(54, 4);
  little_endian(40, 4);
  little_endian(static_cast<std::uint32_t>(width), 4);
  little_endian(static_cast<std::uint32_t>(height), 4);
  little_endian(1, 2);
  little_endian(24, 2);
  for (int i = 0; i < 6; ++i) little_endian(0, 4);
  bmp.insert(bmp.end(), rows.begin(), rows.end());
  return bmp;
}

TEST(Image, GreyPngRoundTrip) {
  Bytes pixels;
  for (int i = 0; i < 7 * 5; ++i) pixels.push_back(static_cast<std::uint8_t>(i * 7));
  const test::TempFolder folder;
  write_png(folder.path() / "grey.png", pixels, 7, 5, 1);
  const GreyImage image = load_grey_image(folder.path() / "grey.png");
  EXPECT_EQ(image.width, 7);
  EXPECT_EQ(image.height, 5);
  EXPECT_EQ(image.pixels, pixels);
}

TEST(Image, ColourBecomesBrightness) {
  const Bytes pixels = {255, 255, 255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255};
  const GreyImage image = decode_grey_image(encode_png(pixels, 5, 1, 3), "x");
  EXPECT_EQ(image.pixels, (Bytes{255, 0, 76, 149, 28}));
}

TEST(Image, TransparencyShowsWhitePaper) {
  const GreyImage grey = decode_grey_image(make_png(3, 1, 4, {0, 0, 255, 0, 0, 0, 128}), "x");
  EXPECT_EQ(grey.pixels, (Bytes{0, 255, 127}));
  const GreyImage colour = decode_grey_image(make_png(1, 1, 6, {0, 9, 9, 9, 0}), "x");
  EXPECT_EQ(colour.pixels, (Bytes{255}));
}

TEST(Image, ColourChannels) {
  const RgbImage image = decode_rgb_image(
      make_png(2, 2, 6, {0, 10, 20, 30, 255, 40, 50, 60, 0, 0, 200, 100, 0, 255, 9, 8, 7, 255}),
      "x");
  EXPECT_EQ(image.width, 2);
  EXPECT_EQ(image.height, 2);
  EXPECT_FALSE(image.is_grey);
  EXPECT_EQ(image.red, (Bytes{10, 255, 200, 9}));  // the second pixel is transparent: white
  EXPECT_EQ(image.green, (Bytes{20, 255, 100, 8}));
  EXPECT_EQ(image.blue, (Bytes{30, 255, 0, 7}));
  const RgbImage grey = decode_rgb_image(make_png(3, 1, 0, {0, 1, 2, 3}), "x");
  EXPECT_TRUE(grey.is_grey);
  EXPECT_EQ(grey.grey, (Bytes{1, 2, 3}));
  EXPECT_TRUE(grey.red.empty());
}

TEST(Image, ReadsPnmAndBmp) {
  EXPECT_EQ(decode_grey_image(text(std::string("P5 2 1 255\n") + "\x10\x20"), "x").pixels,
            (Bytes{0x10, 0x20}));
  EXPECT_EQ(decode_grey_image(text(std::string("P6 1 1 255\n") + "\x40\x40\x40"), "x").pixels,
            (Bytes{0x40}));
  // Rows of a BMP are padded to 4 bytes; they run from the bottom, or from the top when the height
  // is negative.
  const Bytes rows = {10, 10, 10, 0, 20, 20, 20, 0};
  EXPECT_EQ(decode_grey_image(make_bmp(1, 2, rows), "x").pixels, (Bytes{20, 10}));
  EXPECT_EQ(decode_grey_image(make_bmp(1, -2, rows), "x").pixels, (Bytes{10, 20}));
}

TEST(Image, ReadsJpeg) {
  // 1 x 1, white, baseline: quantisation by ones, one DC code and an immediate end of block.
  Bytes jpeg = {0xff, 0xd8, 0xff, 0xdb, 0, 67, 0};
  jpeg.insert(jpeg.end(), 64, 1);
  const auto append = [&](const Bytes& more) { jpeg.insert(jpeg.end(), more.begin(), more.end()); };
  append({0xff, 0xc0, 0, 11, 8, 0, 1, 0, 1, 1, 1, 0x11, 0});
  for (const auto& [table, symbol] : {std::pair<std::uint8_t, std::uint8_t>{0x00, 10}, {0x10, 0}}) {
    append({0xff, 0xc4, 0, 20, table, 1});  // one code, of one bit
    jpeg.insert(jpeg.end(), 15, 0);
    jpeg.push_back(symbol);
  }
  append({0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0});
  append(
      {0x7f, 0x07});  // 0: ten bits follow; 1111111000: 1016; 0: end of block; the rest is padding
  append({0xff, 0xd9});
  const GreyImage image = decode_grey_image(jpeg, "x");
  EXPECT_EQ(image.width, 1);
  EXPECT_EQ(image.pixels, (Bytes{255}));
}

TEST(Image, OtherFilesAreRefused) {
  const test::TempFolder folder;
  const auto refused = [&](const Bytes& bytes, const std::vector<std::string>& parts) {
    test::write_bytes(folder.path() / "file", bytes);
    expect_error(ErrorKind::data, parts, [&] { load_grey_image(folder.path() / "file"); });
  };
  refused({}, {"file", "empty file"});
  refused(text("this is a text file\n"), {"file", "not a picture"});
  refused(text("GIF89a......"), {"not a picture"});
  refused(text("P2 1 1 255\n0\n"), {"not a picture", "binary PNM"});
  refused(text("\x89PNG\r\n\x1a\n"), {"damaged picture"});
  refused(text("BM"), {"damaged picture"});
  refused(text("\xff\xd8\xff"), {"damaged picture"});
  refused(text("P5 2"), {"file"});
  expect_error(ErrorKind::data, {"no such file"}, [&] { load_grey_image(folder.path() / "none"); });
  expect_error(ErrorKind::data, {"regular file"}, [&] { load_grey_image(folder.path()); });
}

TEST(Image, LargeDimensionsAreRefusedBeforeDecoding) {
  expect_error(ErrorKind::data, {"big.png", "20000 x 20000"},
               [] { decode_grey_image(make_png(20000, 20000, 0, Bytes(100)), "big.png"); });
  expect_error(ErrorKind::data, {"8193 x 1"},
               [] { decode_grey_image(make_png(8193, 1, 0, Bytes(8194)), "x"); });
  expect_error(ErrorKind::data, {"8192 x 8192", "pixels"},
               [] { decode_grey_image(make_png(8192, 8192, 0, Bytes(100)), "x"); });
  expect_error(ErrorKind::data, {"60000 x 60000"},
               [] { decode_grey_image(text("P5 60000 60000 255\n"), "x"); });
  expect_error(ErrorKind::data, {"50000 x 50000"},
               [] { decode_grey_image(make_bmp(50000, -50000, Bytes(100)), "x"); });
}

TEST(Image, PixelDataThatInflatesTooFarIsRefused) {
  const Bytes bomb = make_png(1, 1, 0, Bytes(100'000'000));
  ASSERT_LT(bomb.size(), 200'000u);
  expect_error(ErrorKind::data, {"bomb.png", "damaged picture"},
               [&] { decode_grey_image(bomb, "bomb.png"); });
}

TEST(Image, EveryTruncationAndDamagedByteIsHandled) {
  Bytes pixels;
  for (int i = 0; i < 20 * 20; ++i) pixels.push_back(static_cast<std::uint8_t>(i * i));
  const Bytes png = encode_png(pixels, 20, 20, 1);
  const auto try_decoding = [](std::span<const std::uint8_t> bytes) {
    try {
      decode_grey_image(bytes, "x");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data) << error.what();
      return false;
    }
    return true;
  };
  const std::size_t tail = 12 + 4;  // the end chunk and the checksum before it are not looked at
  for (std::size_t n = 0; n + tail < png.size(); ++n) {
    EXPECT_FALSE(try_decoding(std::span(png).first(n))) << n;
  }
  for (std::size_t i = 0; i < png.size(); ++i) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      Bytes damaged = png;
      damaged[i] ^= static_cast<std::uint8_t>(flip);
      try_decoding(damaged);
    }
  }
}

TEST(Image, PngArgumentsAreChecked) {
  expect_error(ErrorKind::usage, {"encode_png"}, [] { encode_png(Bytes(5), 2, 3, 1); });
  expect_error(ErrorKind::usage, {"encode_png"}, [] { encode_png(Bytes(4), 1, 2, 2); });
  expect_error(ErrorKind::usage, {"encode_png"}, [] { encode_png({}, 0, 0, 1); });
  const test::TempFolder folder;
  expect_error(ErrorKind::data, {"cannot be written"},
               [&] { write_png(folder.path() / "no" / "x.png", Bytes(1), 1, 1, 1); });
}

}  // namespace
}  // namespace weft::data

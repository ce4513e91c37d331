// SPDX-License-Identifier: MIT
// Picture files: every format in, PNG round trips, and files that must be refused.
#include "data/picture/image.h"

#include "tests/data/picture/pictures.h"

namespace weft::data {
namespace {

using test::expect_error;
using test::make_bmp;
using test::make_png;
using test::text;

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
  const GreyImage grey = decode_grey_image(
      make_png({.width = 3, .colour = test::kPngGreyAlpha, .rows = {0, 0, 255, 0, 0, 0, 128}}),
      "x");
  EXPECT_EQ(grey.pixels, (Bytes{0, 255, 127}));
  const GreyImage colour =
      decode_grey_image(make_png({.colour = test::kPngRgbAlpha, .rows = {0, 9, 9, 9, 0}}), "x");
  EXPECT_EQ(colour.pixels, (Bytes{255}));
}

TEST(Image, TransparencyShowsWhatContrasts) {
  const auto png = [](const Bytes& rows) {
    return decode_grey_image(make_png({.width = 4, .colour = test::kPngGreyAlpha, .rows = rows}),
                             "x")
        .pixels;
  };
  // White ink lies on black, and dark ink on white.
  EXPECT_EQ(png({0, 255, 255, 0, 0, 255, 128, 9, 0}), (Bytes{255, 0, 128, 0}));
  EXPECT_EQ(png({0, 20, 255, 0, 0, 20, 255, 255, 0}), (Bytes{20, 255, 20, 255}));
  // A sticker with its own ground: the transparent corner takes that ground.
  EXPECT_EQ(png({0, 0, 255, 200, 255, 200, 255, 0, 0}), (Bytes{0, 200, 200, 200}));
  EXPECT_EQ(png({0, 7, 0, 7, 0, 7, 0, 7, 0}), (Bytes{255, 255, 255, 255}));
}

// A picture of 3 x 2 pixels, 1 to 6, as each orientation shows it.
TEST(Image, ExifOrientationIsApplied) {
  struct Shown {
    std::int64_t width;
    Bytes pixels;
  };
  const Shown kShown[] = {{3, {1, 2, 3, 4, 5, 6}}, {3, {3, 2, 1, 6, 5, 4}}, {3, {6, 5, 4, 3, 2, 1}},
                          {3, {4, 5, 6, 1, 2, 3}}, {2, {1, 4, 2, 5, 3, 6}}, {2, {4, 1, 5, 2, 6, 3}},
                          {2, {6, 3, 5, 2, 4, 1}}, {2, {3, 6, 2, 5, 1, 4}}};
  const test::PngParts parts{.width = 3, .height = 2};
  const Bytes rows = test::deflated({0, 1, 2, 3, 0, 4, 5, 6});
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const char* order : {"II", "MM"}) {
      const Bytes png = test::png_of({{"IHDR", test::png_header(parts)},
                                      {"eXIf", test::exif_block(orientation, order)},
                                      {"IDAT", rows}});
      const GreyImage image = decode_grey_image(png, "x");
      const Shown& shown = kShown[orientation - 1];
      EXPECT_EQ(image.width, shown.width) << orientation;
      EXPECT_EQ(image.pixels, shown.pixels) << orientation << order;
    }
  }
}

TEST(Image, DamagedExifIsNoOrientation) {
  const Bytes whole = test::exif_block(6);
  const auto width_with = [](const Bytes& exif) {
    const test::PngParts parts{.width = 3, .height = 2};
    return decode_grey_image(test::png_of({{"IHDR", test::png_header(parts)},
                                           {"eXIf", exif},
                                           {"IDAT", test::deflated({0, 1, 2, 3, 0, 4, 5, 6})}}),
                             "x")
        .width;
  };
  EXPECT_EQ(width_with(whole), 2);
  for (std::size_t length = 0; length < 22; ++length) {
    EXPECT_EQ(width_with(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length))),
              3)
        << length;
  }
  EXPECT_EQ(width_with(Bytes(whole.begin(), whole.begin() + 22)), 2);  // it ends with the entry
  EXPECT_EQ(width_with(test::exif_block(0)), 3);
  EXPECT_EQ(width_with(test::exif_block(9)), 3);
  Bytes far = whole;
  far[4] = 0xff;  // the directory begins beyond the end
  EXPECT_EQ(width_with(far), 3);
}

TEST(Image, ColourChannels) {
  const RgbImage image = decode_rgb_image(
      make_png({.width = 2,
                .height = 2,
                .colour = test::kPngRgbAlpha,
                .rows = {0, 10, 20, 30, 255, 40, 50, 60, 0, 0, 200, 100, 0, 255, 9, 8, 7, 255}}),
      "x");
  EXPECT_EQ(image.width, 2);
  EXPECT_EQ(image.height, 2);
  EXPECT_FALSE(image.is_grey);
  EXPECT_EQ(image.red, (Bytes{10, 255, 200, 9}));  // the second pixel is transparent: white
  EXPECT_EQ(image.green, (Bytes{20, 255, 100, 8}));
  EXPECT_EQ(image.blue, (Bytes{30, 255, 0, 7}));
  const RgbImage grey = decode_rgb_image(make_png({.width = 3, .rows = {0, 1, 2, 3}}), "x");
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
  EXPECT_EQ(decode_grey_image(make_bmp({.width = 1, .height = 2, .rows = rows}), "x").pixels,
            (Bytes{20, 10}));
  EXPECT_EQ(decode_grey_image(make_bmp({.width = 1, .height = -2, .rows = rows}), "x").pixels,
            (Bytes{10, 20}));
}

TEST(Image, OtherFilesAreRefused) {
  const test::TempFolder folder;
  const auto refused = [&](const Bytes& bytes, const std::vector<std::string>& parts) {
    test::write_bytes(folder.path() / "file", bytes);
    expect_error(ErrorKind::data, parts, [&] { load_grey_image(folder.path() / "file"); });
  };
  refused({}, {"file", "empty file"});
  refused(text("this is a text file\n"), {"file", "not a picture"});
  refused(text("GIF88a......"),
          {"not a picture", "expected PNG, JPEG, GIF, WebP, TIFF, HEIC, AVIF, BMP"});
  refused(text("GIF89a"), {"damaged picture"});
  refused(text("P2 1 1 255\n0\n"), {"not a picture", "binary PNM"});
  refused(text("\x89PNG\r\n\x1a\n"), {"damaged picture"});
  refused(text("BM"), {"damaged picture"});
  refused(text("\xff\xd8\xff"), {"damaged picture"});
  refused(text("P5 2"), {"file"});
  expect_error(ErrorKind::data, {"no such file"}, [&] { load_grey_image(folder.path() / "none"); });
  expect_error(ErrorKind::data, {"regular file"}, [&] { load_grey_image(folder.path()); });
}

TEST(Image, LargeDimensionsAreRefusedBeforeDecoding) {
  expect_error(ErrorKind::data, {"big.png", "20000 x 20000"}, [] {
    decode_grey_image(make_png({.width = 20000, .height = 20000, .rows = Bytes(100)}), "big.png");
  });
  expect_error(ErrorKind::data, {"dimensions 60000 x 60000: expected 1 to 8192 a side"}, [] {
    decode_grey_image(make_png({.width = 60000, .height = 60000, .rows = Bytes(100)}), "x");
  });
  expect_error(ErrorKind::data, {"8193 x 1"}, [] {
    decode_grey_image(make_png({.width = 8193, .height = 1, .rows = Bytes(8194)}), "x");
  });
  expect_error(ErrorKind::data, {"8192 x 8192", "pixels"}, [] {
    decode_grey_image(make_png({.width = 8192, .height = 8192, .rows = Bytes(100)}), "x");
  });
  expect_error(ErrorKind::data, {"60000 x 60000"},
               [] { decode_grey_image(text("P5 60000 60000 255\n"), "x"); });
  expect_error(ErrorKind::data, {"50000 x 50000"}, [] {
    decode_grey_image(make_bmp({.width = 50000, .height = -50000, .rows = Bytes(100)}), "x");
  });
}

TEST(Image, PixelDataThatInflatesTooFarIsRefused) {
  const Bytes bomb = make_png({.rows = Bytes(100'000'000)});
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
  expect_error(ErrorKind::data, {"could not"},
               [&] { write_png(folder.path() / "no" / "x.png", Bytes(1), 1, 1, 1); });
}

}  // namespace
}  // namespace weft::data

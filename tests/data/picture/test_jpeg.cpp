// SPDX-License-Identifier: MIT
// JPEG files: what is decoded, and every kind of damage that is refused before a decoder sees it.
#include <algorithm>

#include "tests/data/picture/pictures.h"

namespace weft::data {
namespace {

using test::can_be_decoded;
using test::corpus_file;
using test::decode_grey;
using test::expect_refused;
using test::jpeg_tables;
using test::JpegWriter;

constexpr int kBaseline = 0xc0, kProgressive = 0xc2;
const std::vector<JpegWriter::Component> kGreyFrame = {{1, 0x11, 0}};
const std::vector<JpegWriter::Component> kColourFrame = {{1, 0x11, 0}, {2, 0x11, 0}, {3, 0x11, 0}};

// 8 x 8, one block: a DC difference of 0 and an end of block.
Bytes smallest() {
  return jpeg_tables().frame(kBaseline, 8, 8, kGreyFrame).scan({{1, 0}}, 0, 63, 0, {0x3f}).finish();
}

TEST(Jpeg, OneBlock) {
  const GreyImage image = decode_grey(smallest());
  EXPECT_EQ(image.pixels, Bytes(64, 128));
}

TEST(Jpeg, ADifferenceOfTenBits) {
  // 0: ten bits follow; 1111111000: 1016; 0: end of block; the rest is padding.
  const Bytes jpeg = JpegWriter()
                         .quantisation()
                         .frame(kBaseline, 1, 1, kGreyFrame)
                         .huffman(0, {{1, 10}})
                         .huffman(16, {{1, 0}})
                         .scan({{1, 0}}, 0, 63, 0, {0x7f, 0x07})
                         .finish();
  EXPECT_EQ(decode_grey(jpeg).pixels, (Bytes{255}));
}

TEST(Jpeg, ABigPictureFitsWhatItsDecoderMayAllocate) {
  constexpr int kLength = 512;
  const Bytes jpeg = jpeg_tables()
                         .frame(kBaseline, kLength, kLength, kGreyFrame)
                         .scan({{1, 0}}, 0, 63, 0, Bytes(kLength / 8 * kLength / 8 * 2 / 8))
                         .finish();
  EXPECT_EQ(decode_grey(jpeg).pixels, Bytes(kLength * kLength, 128));
}

// A coefficient of 3 behind sixteen zeros, which one code of 1 bit stands for.
TEST(Jpeg, ARunOfSixteenZerosMeansTheSameInProgressiveFiles) {
  const JpegWriter::Codes codes = {{1, 0xf0}, {2, 2}, {3, 0}};
  Bytes coarse(65, 100);
  coarse[0] = 0;  // table 0
  const Bytes baseline = jpeg_tables()
                             .segment(0xdb, coarse)
                             .huffman(17, codes)
                             .frame(kBaseline, 8, 8, kGreyFrame)
                             .scan({{1, 1}}, 0, 63, 0, {0x2f, 0x7f})
                             .finish();
  const Bytes progressive = jpeg_tables()
                                .segment(0xdb, coarse)
                                .huffman(17, codes)
                                .frame(kProgressive, 8, 8, kGreyFrame)
                                .scan({{1, 0}}, 0, 0, 0, {0x7f})
                                .scan({{1, 1}}, 1, 63, 0, {0x5e})
                                .finish();
  const GreyImage expected = decode_grey(baseline);
  EXPECT_NE(expected.pixels, Bytes(64, 128));
  EXPECT_EQ(decode_grey(progressive).pixels, expected.pixels);
}

TEST(Jpeg, SamePixelsInEveryOrderOfTheSameCoefficients) {
  const RgbImage baseline = decode_rgb_image(corpus_file("baseline.jpg"), "x");
  EXPECT_EQ(baseline.width, 7);
  EXPECT_EQ(baseline.height, 9);
  for (const char* name : {"separate-scans.jpg", "progressive-restarts.jpg"}) {
    const RgbImage other = decode_rgb_image(corpus_file(name), "x");
    EXPECT_EQ(other.red, baseline.red) << name;
    EXPECT_EQ(other.green, baseline.green) << name;
    EXPECT_EQ(other.blue, baseline.blue) << name;
  }
  EXPECT_EQ(decode_grey(corpus_file("grey.jpg")).pixels,
            decode_grey(corpus_file("progressive-grey.jpg")).pixels);
}

// Brightness comes straight from the file, and through red, green and blue. The ways round.
TEST(Jpeg, GreyIsTheBrightnessOfTheColours) {
  for (const char* name : {"baseline.jpg", "progressive.jpg", "restarts.jpg", "cmyk.jpg"}) {
    const GreyImage grey = decode_grey(corpus_file(name));
    const RgbImage colour = decode_rgb_image(corpus_file(name), name);
    ASSERT_FALSE(colour.is_grey) << name;
    ASSERT_EQ(grey.pixels.size(), colour.grey.size()) << name;
    for (std::size_t i = 0; i < grey.pixels.size(); ++i) {
      const int red = colour.red[i], green = colour.green[i], blue = colour.blue[i];
      if (std::min({red, green, blue}) == 0 || std::max({red, green, blue}) == 255) continue;
      EXPECT_NEAR(grey.pixels[i], colour.grey[i], 2) << name << " " << i;
    }
  }
}

TEST(Jpeg, EveryTruncationIsRefusedAndNoDamageIsFatal) {
  for (const char* name : {"baseline.jpg", "progressive.jpg", "restarts.jpg", "cmyk.jpg"}) {
    const Bytes whole = corpus_file(name);
    ASSERT_TRUE(can_be_decoded(whole)) << name;
    for (std::size_t n = 0; n < whole.size(); ++n) {
      EXPECT_FALSE(can_be_decoded(std::span(whole).first(n))) << name << " " << n;
    }
    for (std::size_t i = 0; i < whole.size(); ++i) {
      for (const int flip : {0x01, 0x10, 0x80, 0xff}) {
        Bytes damaged = whole;
        damaged[i] ^= static_cast<std::uint8_t>(flip);
        can_be_decoded(damaged);
      }
    }
  }
}

TEST(Jpeg, PaddingBetweenSegmentsAndBehindThemIsSkipped) {
  Bytes jpeg = smallest();
  jpeg.insert(jpeg.begin() + 2, {0xff, 0xfe, 0, 4, 'h', 'i', 0, 0, 0xff});
  test::append(jpeg, {1, 2, 3});
  EXPECT_TRUE(can_be_decoded(jpeg));
}

TEST(Jpeg, HuffmanTables) {
  const auto with_table = [](int selector, const JpegWriter::Codes& codes) {
    return jpeg_tables().huffman(selector, codes).frame(kBaseline, 8, 8, kGreyFrame).finish();
  };
  expect_refused(with_table(0, {{1, 0}, {1, 1}, {1, 2}}), "more codes of up to 1 bits");
  expect_refused(with_table(16, {{1, 0}, {1, 1}, {16, 2}}), "more codes of up to 16 bits");
  JpegWriter::Codes many;
  for (int i = 0; i < 257; ++i) many.push_back({i < 255 ? 9 : 16, i & 0xff});
  expect_refused(with_table(16, many), "257 codes, expected at most 256");
  many.pop_back();
  expect_refused(with_table(16, many), "component 1 has no scan");  // but the table is fine
  expect_refused(with_table(4, {}), "Huffman table 4");
  expect_refused(with_table(0x20, {}), "Huffman table 32");
  JpegWriter repeated = jpeg_tables();
  for (int i = 0; i < 1000; ++i) repeated.huffman(1, {{1, 0}});
  expect_refused(repeated.frame(kBaseline, 8, 8, kGreyFrame).finish(),
                 "more than 1000 Huffman tables");
}

TEST(Jpeg, MissingTables) {
  const auto scan = [](JpegWriter tables) {
    return tables.frame(kBaseline, 8, 8, kGreyFrame).scan({{1, 0}}, 0, 63, 0, {0x3f}).finish();
  };
  EXPECT_TRUE(can_be_decoded(scan(jpeg_tables())));
  expect_refused(scan(JpegWriter().huffman(0, {{1, 0}}).huffman(16, {{1, 0}})),
                 "quantisation table 0 is missing");
  expect_refused(scan(JpegWriter().quantisation().huffman(0, {{1, 0}})),
                 "a Huffman table of component 1 is missing");
  expect_refused(scan(JpegWriter().quantisation().huffman(16, {{1, 0}})),
                 "a Huffman table of component 1 is missing");
  expect_refused(JpegWriter().segment(0xdb, {0x20}).finish(), "quantisation table 32");
  expect_refused(JpegWriter().segment(0xdb, Bytes(64)).finish(), "cut off");
}

TEST(Jpeg, Frames) {
  const auto with_frame = [](int marker, int width, int height,
                             const std::vector<JpegWriter::Component>& components) {
    return jpeg_tables().frame(marker, width, height, components).finish();
  };
  expect_refused(jpeg_tables().finish(), "no frame");
  expect_refused(with_frame(kBaseline, 60000, 60000, kGreyFrame), "60000 x 60000");
  expect_refused(with_frame(kBaseline, 8, 0, kGreyFrame), "8 x 0");
  expect_refused(with_frame(kProgressive, 8000, 6000, kGreyFrame), "8000 x 6000 pixels do not fit");
  expect_refused(with_frame(kBaseline, 8, 8, {{1, 0x11, 0}, {2, 0x11, 0}}), "2 components");
  expect_refused(with_frame(kBaseline, 8, 8, {{1, 0x11, 0}, {1, 0x11, 0}, {3, 0x11, 0}}),
                 "two components 1");
  expect_refused(with_frame(kBaseline, 8, 8, {{1, 0x50, 0}}), "sampling factors 5 x 0");
  expect_refused(with_frame(kBaseline, 8, 8, {{1, 0x11, 4}}), "quantisation table 4");
  expect_refused(with_frame(kBaseline, 8, 8, {{1, 0x31, 0}, {2, 0x21, 0}, {3, 0x11, 0}}),
                 "sampling factors 2 x 1 beside 3 x 1");
  for (const int marker : {0xc3, 0xc5, 0xc9, 0xca, 0xcc, 0xcf}) {
    expect_refused(with_frame(marker, 8, 8, kGreyFrame), "neither baseline nor progressive");
  }
  expect_refused(
      jpeg_tables().frame(kBaseline, 8, 8, kGreyFrame).frame(kBaseline, 8, 8, kGreyFrame).finish(),
      "two frames");
  expect_refused(jpeg_tables().segment(kBaseline, {12, 0, 8, 0, 8, 1, 1, 0x11, 0}).finish(),
                 "12 bits per sample");
  expect_refused(jpeg_tables().segment(kBaseline, {8, 0, 8, 0, 8, 1, 1, 0x11, 0, 9}).finish(),
                 "1 bytes too many");
  expect_refused(jpeg_tables().segment(0xf7, {}).finish(), "unknown marker, 247");
}

TEST(Jpeg, EveryComponentHasOneScan) {
  const auto with_scans = [](const std::vector<std::vector<JpegWriter::ScanPart>>& scans) {
    JpegWriter jpeg = jpeg_tables().frame(kBaseline, 8, 8, kColourFrame);
    for (const auto& parts : scans) jpeg.scan(parts, 0, 63, 0, {0x03});
    return jpeg.finish();
  };
  EXPECT_TRUE(can_be_decoded(with_scans({{{1, 0}, {2, 0}, {3, 0}}})));
  EXPECT_TRUE(can_be_decoded(with_scans({{{3, 0}}, {{1, 0}, {2, 0}}})));
  expect_refused(with_scans({{{1, 0}}}), "component 2 has no scan");
  expect_refused(with_scans({{{1, 0}, {2, 0}}, {{2, 0}, {3, 0}}}), "not in its place");
  expect_refused(with_scans({{{1, 0}, {1, 0}}}), "a scan of component 1");
  expect_refused(with_scans({{{4, 0}}}), "a scan of component 4");
  expect_refused(with_scans({{{1, 0x40}}}), "Huffman tables 4 and 0");
  expect_refused(with_scans({{}}), "0 components of 3");
  expect_refused(jpeg_tables()
                     .frame(kBaseline, 8, 8, {{1, 0x44, 0}, {2, 0x11, 0}, {3, 0x11, 0}})
                     .scan({{1, 0}, {2, 0}, {3, 0}}, 0, 63, 0, Bytes(9))
                     .finish(),
                 "18 blocks in an MCU");
  expect_refused(JpegWriter().scan({{1, 0}}, 0, 63, 0, {0}).finish(), "1 components of 0");
}

TEST(Jpeg, ProgressiveScansComeInOrder) {
  struct Scan {
    int first, last, bits;
  };
  const auto with_scans = [](const std::vector<Scan>& scans) {
    JpegWriter jpeg = jpeg_tables().frame(kProgressive, 8, 8, kGreyFrame);
    for (const auto& [first, last, bits] : scans) jpeg.scan({{1, 0}}, first, last, bits, {0x7f});
    return jpeg.finish();
  };
  EXPECT_TRUE(can_be_decoded(with_scans({{0, 0, 0}})));
  EXPECT_TRUE(can_be_decoded(with_scans({{0, 0, 1}, {1, 63, 2}, {0, 0, 0x10}, {1, 63, 0x21}})));
  for (const auto& scans :
       std::vector<std::vector<Scan>>{{{1, 63, 0}},               // AC before DC
                                      {{0, 63, 0}},               // both at once
                                      {{0, 0, 0}, {0, 0, 0}},     // again
                                      {{0, 0, 2}, {0, 0, 0x10}},  // bit 1 is missing
                                      {{0, 0, 2}, {0, 0, 0x20}},  // two bits
                                      {{0, 0, 0x10}},             // a refinement of nothing
                                      {{0, 0, 14}},               // more bits than there are
                                      {{0, 0, 0}, {5, 4, 0}},     // backwards
                                      {{0, 0, 0}, {1, 64, 0}},    // beyond the block
                                      {{0, 0, 0}, {1, 5, 0}, {5, 9, 0}}}) {
    expect_refused(with_scans(scans), "not in its place");
  }
  expect_refused(jpeg_tables()
                     .frame(kProgressive, 8, 8, kColourFrame)
                     .scan({{1, 0}, {2, 0}, {3, 0}}, 0, 0, 0, {0})
                     .scan({{1, 0}, {2, 0}}, 1, 63, 0, {0})
                     .finish(),
                 "not in its place");
}

// Coefficient 63 alone is refined: where it becomes 1, and where one zero comes before that.
TEST(Jpeg, ARefinedCoefficientLiesInTheBandOfItsScan) {
  const auto with_refinement = [](const Bytes& data) {
    return jpeg_tables()
        .huffman(17, {{1, 0}, {2, 0x11}, {3, 0x01}})
        .frame(kProgressive, 8, 8, kGreyFrame)
        .scan({{1, 0}}, 0, 0, 0, {0x7f})
        .scan({{1, 1}}, 63, 63, 1, {0x7f})
        .scan({{1, 1}}, 63, 63, 0x10, data)
        .finish();
  };
  EXPECT_TRUE(can_be_decoded(with_refinement({0xdf})));
  expect_refused(with_refinement({0xbf}), "outside the band of its scan");
}

TEST(Jpeg, WorkIsBounded) {
  // Each coefficient of one block in 14 scans of a bit each.
  const auto with_scans = [](int side, int scans) {
    const auto blocks = static_cast<std::size_t>(side / 8 * (side / 8));
    JpegWriter jpeg =
        jpeg_tables().huffman(17, {{1, 0xe0}}).frame(kProgressive, side, side, kGreyFrame);
    jpeg.scan({{1, 0}}, 0, 0, 0, Bytes((blocks + 7) / 8));
    for (int i = 0; i < scans; ++i) {
      const int bit = 13 - i % 14;
      // Code 0 and 14 bits of 0: nothing in 16384 blocks.
      jpeg.scan({{1, 1}}, 1 + i / 14, 1 + i / 14, (bit < 13 ? (bit + 1) << 4 : 0) | bit,
                Bytes(2 + blocks / 16384 * 2));
    }
    return jpeg.finish();
  };
  EXPECT_TRUE(can_be_decoded(with_scans(8, 99)));
  expect_refused(with_scans(8, 100), "more than 100 scans");
  EXPECT_TRUE(can_be_decoded(with_scans(2048, 23)));
  expect_refused(with_scans(2048, 24), "its scans visit 1638400 blocks, expected at most 1572864");
}

TEST(Jpeg, DataOfAScan) {
  const auto with_data = [](const JpegWriter::Codes& dc, const JpegWriter::Codes& ac,
                            const Bytes& data) {
    return JpegWriter()
        .quantisation()
        .huffman(0, dc)
        .huffman(16, ac)
        .frame(kBaseline, 16, 16, kGreyFrame)
        .scan({{1, 0}}, 0, 63, 0, data)
        .finish();
  };
  const JpegWriter::Codes zero = {{1, 0}};
  EXPECT_TRUE(can_be_decoded(with_data(zero, zero, {0x00})));
  EXPECT_TRUE(can_be_decoded(with_data(zero, zero, {0x00, 0xff, 0x00, 7, 0xff, 0xd3})));
  expect_refused(with_data(zero, zero, {}), "ends early");
  expect_refused(with_data({{2, 0}}, zero, {0x00}), "ends early");  // 12 bits of 8
  expect_refused(with_data(zero, zero, {0x80, 0x80, 0x80}), "no Huffman code");
  // 63 coefficients of no bits, and one more: runs of 15 zeros and a one.
  expect_refused(with_data(zero, {{1, 0xf1}}, {0, 0, 0, 0, 0}), "outside its block");
  expect_refused(with_data({{1, 16}}, zero, Bytes(20)), "more than 15 bits");
  // Four differences of +16384.
  expect_refused(with_data({{1, 15}}, zero, {0x40, 0, 0x20, 0, 0x10, 0, 0x08, 0, 0}),
                 "leaves 16 bits");
  // One of +1, which quantisation makes 50000.
  Bytes coarse(129);
  coarse[0] = 0x10;
  coarse[1] = 50000 >> 8;
  expect_refused(jpeg_tables()
                     .segment(0xdb, coarse)
                     .huffman(0, {{1, 1}})
                     .frame(kBaseline, 8, 8, kGreyFrame)
                     .scan({{1, 0}}, 0, 63, 0, {0x5f})
                     .finish(),
                 "leaves 16 bits");
}

TEST(Jpeg, RestartMarkers) {
  const auto with_data = [](const Bytes& data) {
    return jpeg_tables()
        .segment(0xdd, {0, 2})
        .frame(kBaseline, 32, 16, kGreyFrame)
        .scan({{1, 0}}, 0, 63, 0, data)
        .finish();
  };
  const Bytes good = {0x0f, 0xff, 0xd0, 0x0f, 0xff, 0xff, 0xd1, 0x0f, 0xff, 0xd2, 0x0f};
  EXPECT_TRUE(can_be_decoded(with_data(good)));
  Bytes bad = good;
  bad[2] = 0xd1;
  expect_refused(with_data(bad), "restart marker 0 is expected");
  bad = good;
  bad.insert(bad.begin() + 1, 0x0f);
  expect_refused(with_data(bad), "restart marker 0 is expected");
  expect_refused(with_data({0, 0, 0, 0}), "restart marker 0 is expected");
  bad = good;
  bad.resize(7);
  expect_refused(with_data(bad), "ends early");
}

// Two blocks whose DC differences are 20000. Their sum would leave 16 bits.
TEST(Jpeg, DifferencesBeginAnewBehindARestartMarker) {
  const Bytes jpeg = JpegWriter()
                         .quantisation()
                         .huffman(0, {{1, 15}})
                         .huffman(16, {{1, 0}})
                         .segment(0xdd, {0, 1})
                         .frame(kBaseline, 16, 8, kGreyFrame)
                         .scan({{1, 0}}, 0, 63, 0, {0x4e, 0x20, 0x7f, 0xff, 0xd0, 0x4e, 0x20, 0x7f})
                         .finish();
  EXPECT_EQ(decode_grey(jpeg).pixels, Bytes(128, 255));
}

}  // namespace
}  // namespace weft::data

// SPDX-License-Identifier: MIT
// weft histogram: NumPy's counts, pictures, plots and every mistake.
#include <algorithm>
#include <cmath>
#include <limits>

#include "data/arrays/npy.h"
#include "data/picture/image.h"
#include "tests/cli/program.h"

namespace weft::test {
namespace {

using Counts = std::vector<std::int64_t>;

class HistogramCommand : public ProgramTest {
 protected:
  template <class T>
  void save(const std::string& name, const std::string& dtype, const std::vector<T>& values) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(values));
    data::write_npy((folder() / name).string(),
                    {dtype, {std::ssize(values)}, {bytes.begin(), bytes.end()}});
  }
  nlohmann::json json_of(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "histogram");
    arguments.insert(arguments.end(), {"--json", "--device", "cpu"});
    const Outcome outcome = weft(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const std::vector<nlohmann::json> events = json_lines(outcome.out);
    return events.size() == 1 ? events[0] : nlohmann::json::object();
  }
  void expect_counts(const std::vector<std::string>& arguments, const Counts& counts) {
    const nlohmann::json event = json_of(arguments);
    ASSERT_TRUE(event.contains("counts"));
    EXPECT_EQ(event.at("counts").get<Counts>(), counts) << event.dump();
  }
  // A picture of four pixels: red, green, blue and white.
  void write_picture() {
    write("picture.ppm", std::string("P6\n2 2\n255\n") + "\xff" + std::string(3, '\0') + "\xff" +
                             std::string(3, '\0') + "\xff\xff\xff\xff");
  }
};

// The expected counts of the next three tests are numpy.histogram()'s (2.4).
TEST_F(HistogramCommand, EdgesBelongToTheBinAboveAndTheLastBinIsClosed) {
  save<float>("a.npy", "f4", {0, 0.25f, 0.5f, 0.75f, 1, std::nextafter(0.5f, 0.0f)});
  expect_counts({"a.npy", "--bins", "4"}, {1, 2, 1, 2});
  expect_counts({"a.npy", "--bins", "4", "--range", "0.25,0.75"}, {1, 1, 1, 1});
  // Tenths: none is exact in binary, and the products with 10 round to either side.
  save<float>("tenths.npy", "f4", {0, .1f, .2f, .3f, .4f, .5f, .6f, .7f, .8f, .9f, 1});
  expect_counts({"tenths.npy", "--range", "0,1"}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 2});
  save<double>("tenths8.npy", "f8", {0, .1, .2, .3, .4, .5, .6, .7, .8, .9, 1});
  expect_counts({"tenths8.npy"}, {1, 1, 2, 0, 1, 2, 1, 0, 1, 2});
  save<float>("below.npy", "f4", {std::nextafter(-3.0f, -4.0f), -3, 3, std::nextafter(3.0f, 4.0f)});
  const nlohmann::json event = json_of({"below.npy", "--bins", "2", "--range", "-3,3"});
  EXPECT_EQ(event.at("counts").get<Counts>(), (Counts{1, 1}));
  EXPECT_EQ(event.at("below"), 1);
  EXPECT_EQ(event.at("above"), 1);
  EXPECT_EQ(event.at("counted"), 2);
}

TEST_F(HistogramCommand, IntegersOfEveryWidth) {
  save<std::int32_t>("i4.npy", "i4", {1, 2, 3, 4});
  expect_counts({"i4.npy", "--bins", "3"}, {1, 1, 2});
  save<std::uint8_t>("u1.npy", "u1", {0, 127, 128, 255, 255});
  expect_counts({"u1.npy", "--bins", "2"}, {2, 3});
  save<std::int8_t>("i1.npy", "i1", {-128, -1, 0, 127});
  expect_counts({"i1.npy", "--bins", "2", "--range", "-128,128"}, {2, 2});
  save<std::uint64_t>("u8.npy", "u8", {0, 1ull << 63, ~0ull});
  expect_counts({"u8.npy", "--bins", "2"}, {1, 2});
  const Outcome piped = shell("printf '1 2 3 4' | \"$WEFT\" histogram --bins 3 --json");
  EXPECT_EQ(json_lines(piped.out).at(0).at("counts").get<Counts>(), (Counts{1, 1, 2}));
}

TEST_F(HistogramCommand, OneValueAndNoneGetARange) {
  save<float>("one.npy", "f4", {5, 5, 5});
  const nlohmann::json one = json_of({"one.npy", "--bins", "2"});
  EXPECT_EQ(one.at("edges").get<std::vector<double>>(), (std::vector<double>{4.5, 5, 5.5}));
  EXPECT_EQ(one.at("counts").get<Counts>(), (Counts{0, 3}));
  save<float>("none.npy", "f4", {});
  const nlohmann::json none = json_of({"none.npy", "--bins", "2"});
  EXPECT_EQ(none.at("edges").get<std::vector<double>>(), (std::vector<double>{0, 0.5, 1}));
  EXPECT_EQ(none.at("counts").get<Counts>(), (Counts{0, 0}));
}

TEST_F(HistogramCommand, WhatIsNoNumberIsCountedApart) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  save<float>("a.npy", "f4", {1, kNan, 2, kInfinity, -kInfinity, kNan, kNan, 3});
  const nlohmann::json event = json_of({"a.npy", "--bins", "2"});
  EXPECT_EQ(event.at("counts").get<Counts>(), (Counts{1, 2}));
  EXPECT_EQ(event.at("nan"), 3);
  EXPECT_EQ(event.at("infinite"), 2);
  EXPECT_EQ(event.at("counted"), 3);
  EXPECT_EQ(event.at("mean"), 2.0);
  const Outcome table = weft({"histogram", "a.npy", "--bins", "2", "--device", "cpu"});
  EXPECT_NE(table.out.find("3 NaN, 2 infinite"), std::string::npos) << table.out;
}

TEST_F(HistogramCommand, MergedBinsAreSaidToBe) {
  write("a.txt", "1 2 3 4 5 6 7 8 9");
  const Outcome merged = weft({"histogram", "a.txt", "--bins", "40", "--device", "cpu"});
  EXPECT_NE(merged.out.find("Each row adds up 2 bins; --out FILE.csv writes all 40."),
            std::string::npos)
      << merged.out;
  const Outcome whole = weft({"histogram", "a.txt", "--bins", "20", "--device", "cpu"});
  EXPECT_EQ(whole.out.find("Each row"), std::string::npos) << whole.out;
}

TEST_F(HistogramCommand, ManyValuesAndBinsAgreeWithALoop) {
  constexpr std::int64_t kBins = 512, kValues = 5'000'011;  // more than are counted at a time
  std::vector<float> values;
  Counts expected(kBins);
  std::uint32_t state = 1;
  for (std::int64_t i = 0; i < kValues; ++i) {
    state = state * 1664525 + 1013904223;
    values.push_back(static_cast<float>(state >> 8) / 16777216.0f);  // exact, as 512 * x is
    ++expected[static_cast<std::size_t>(values.back() * kBins)];
  }
  save("many.npy", "f4", values);
  for (const std::string variant : {"automatic", "global_atomics"}) {
    expect_counts({"many.npy", "--bins", "512", "--range", "0,1", "--impl", variant}, expected);
  }
}

TEST_F(HistogramCommand, PicturesPerChannel) {
  write_picture();
  const nlohmann::json event = json_of({"picture.ppm", "--bins", "2"});
  const nlohmann::json& counts = event.at("counts");
  for (const char* channel : {"red", "green", "blue"}) {
    EXPECT_EQ(counts.at(channel).get<Counts>(), (Counts{2, 2})) << channel;
  }
  // Brightness 76, 149, 28 and 255.
  EXPECT_EQ(counts.at("luminance").get<Counts>(), (Counts{2, 2}));
  const nlohmann::json all = json_of({"picture.ppm"});
  const Counts luminance = all.at("counts").at("luminance").get<Counts>();
  ASSERT_EQ(luminance.size(), 256u);
  for (const std::size_t value : {76, 149, 28, 255}) EXPECT_EQ(luminance[value], 1) << value;
  EXPECT_EQ(all.at("counts").at("red").get<Counts>()[255], 2);

  write("grey.pgm", std::string("P5\n3 1\n255\n") + "\x10\x10\x20");
  const nlohmann::json grey = json_of({"grey.pgm"});
  EXPECT_FALSE(grey.at("counts").contains("red"));
  EXPECT_EQ(grey.at("counts").at("luminance").get<Counts>()[16], 2);
  EXPECT_EQ(shell("\"$WEFT\" histogram - --device cpu < grey.pgm").exit_code, 0);
}

TEST_F(HistogramCommand, TablesFitAnEightyColumnScreen) {
  write_picture();
  std::vector<float> values;
  for (int i = 0; i < 10'000; ++i) values.push_back(std::sin(static_cast<float>(i)) * 123.4f);
  save("a.npy", "f4", values);
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"histogram", "picture.ppm", "--device", "cpu"},
           {"histogram", "a.npy", "--bins", "1000", "--device", "cpu"}}) {
    const std::vector<std::string> lines = lines_of(weft(arguments).out);
    EXPECT_GE(lines.size(), 16u);
    EXPECT_LE(lines.size(), 40u);
    for (const std::string& line : lines) {
      const auto is_first = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
      EXPECT_LE(std::count_if(line.begin(), line.end(), is_first), 80) << line;
    }
  }
  environment_["LANG"] = "C";
  const std::string plain = weft({"histogram", "a.npy", "--device", "cpu"}).out;
  EXPECT_NE(plain.find("###"), std::string::npos);
  for (const char c : plain) EXPECT_LT(static_cast<unsigned char>(c), 0x80u);
}

TEST_F(HistogramCommand, WritesPlotsAndCounts) {
  save<std::int32_t>("a<b&.npy", "i4", {1, 2, 2, 3, 3, 3, 4, 4, 4, 4});
  write_picture();
  const auto out = [&](const std::string& input, const std::string& name) {
    const Outcome outcome = weft({"histogram", input, "--out", name, "--device", "cpu", "--bins",
                                  input.ends_with("npy") ? "3" : "256"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_NE(outcome.out.find("written"), std::string::npos);
    return read(name);
  };
  EXPECT_EQ(out("a<b&.npy", "h.csv"), "lower,upper,count\n1.0,2.0,1\n2.0,3.0,2\n3.0,4.0,7\n");
  out("a<b&.npy", "h.npy");
  const data::NpyArray counts = data::read_npy((folder() / "h.npy").string());
  EXPECT_EQ(counts.dtype, "i8");
  EXPECT_EQ(counts.shape, std::vector<std::int64_t>{3});
  EXPECT_EQ(nlohmann::json::parse(out("a<b&.npy", "h.json")).at("counts").get<Counts>(),
            (Counts{1, 2, 7}));

  const std::string svg = out("a<b&.npy", "h.svg");
  EXPECT_TRUE(svg.starts_with("<svg ")) << svg.substr(0, 80);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find("a&lt;b&amp;.npy"), std::string::npos);
  EXPECT_EQ(svg.find("a<b"), std::string::npos);
  EXPECT_NE(svg.find("<title>3 to 4: 7</title>"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  const std::string areas = out("picture.ppm", "p.svg");
  for (const char* part : {"area red", "area green", "area blue", "area neutral", ">luminance<"}) {
    EXPECT_NE(areas.find(part), std::string::npos) << part;
  }

  out("a<b&.npy", "h.png");
  const data::RgbImage png = data::load_rgb_image(folder() / "h.png");
  EXPECT_EQ(png.width, 1720);
  EXPECT_EQ(png.height, 840);
  const auto pixel = [&](std::int64_t x, std::int64_t y) {
    const std::size_t at = static_cast<std::size_t>(y * png.width + x);
    return std::vector<int>{png.red[at], png.green[at], png.blue[at]};
  };
  EXPECT_EQ(pixel(2, 2), (std::vector<int>{255, 255, 255}));
  const std::vector<int> bar = pixel(1400, 600), above_first = pixel(400, 400);
  EXPECT_GT(bar[2], bar[0] + 60);  // the third bar is full and blue
  EXPECT_GT(above_first[0], 200);  // the first reaches a seventh of it
  out("picture.ppm", "p.png");
  EXPECT_EQ(data::load_rgb_image(folder() / "p.png").width, 1720);
  out("picture.ppm", "p.npy");
  EXPECT_EQ(data::read_npy((folder() / "p.npy").string()).shape,
            (std::vector<std::int64_t>{4, 256}));
}

TEST_F(HistogramCommand, MistakesAreOneLineAndLeaveNothing) {
  save<float>("data.npy", "f4", {1, 2});
  save<double>("wide.npy", "f8", {-1e308, 1e308});
  write_picture();
  write("table.csv", "a,b\n1,2\n3,4\n");
  write("bad.txt", "1\n2 x\n");
  write("cut.png", "\x89PNG\r\n\x1a\n");
  const std::vector<std::tuple<std::vector<std::string>, int, std::string>> mistakes = {
      {{"dta.npy"}, 3, "did you mean 'data.npy'?"},
      {{"bad.txt"}, 3, "line 2: 'x' is not a number"},
      {{"table.csv"}, 3, "a table of 2 columns, 'a,b': --column NAME or N takes one"},
      {{"cut.png"}, 3, "damaged picture"},
      {{"-"}, 3, "holds no numbers"},
      {{"data.npy", "--bins", "0"}, 2, "--bins: expected a whole number from 1"},
      {{"data.npy", "--bins", "99999999999"}, 2, "--bins: expected"},
      {{"data.npy", "--range", "3,1"}, 2, "LO below HI"},
      {{"data.npy", "--range", "1"}, 2, "LO,HI"},
      {{"data.npy", "--range", "1,2,3"}, 2, "LO,HI"},
      {{"data.npy", "--range", "0,inf"}, 2, "LO,HI"},
      {{"data.npy", "--range", "nan,1"}, 2, "LO,HI"},
      {{"data.npy", "--range", "1,1.0000001", "--bins", "1000"}, 2, "no room for 1000 bins"},
      {{"wide.npy", "--range", "-1e308,1.7e308"}, 2, "too wide"},
      {{"data.npy", "--out", "h.gif"}, 2, ".svg, .png, .csv, .npy, .json"},
      {{"data.npy", "--out", "h.sgv"}, 2, "did you mean '.svg'?"},
      {{"data.npy", "--out", "nowhere/h.svg"}, 3, "no folder nowhere"},
      {{"data.npy", "--impl", "magic"}, 2, "unknown histogram variant 'magic'"},
      {{"data.npy", "--impl", "vectorized", "--device", "cpu"}, 2, "does not run on cpu"},
      {{"picture.ppm", "--range", "0,1", "--device", "cpu"}, 2, "--range is for arrays"},
      {{"picture.ppm", "--bins", "10", "--device", "cpu"}, 2, "must divide 256"},
  };
  for (const auto& [arguments, code, part] : mistakes) {
    std::vector<std::string> all = {"histogram"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    if (std::find(all.begin(), all.end(), "--device") == all.end()) {
      all.insert(all.end(), {"--device", "cpu"});
    }
    SCOPED_TRACE(part);
    const Outcome outcome = weft(all);
    expect_error(outcome, code, part);
    EXPECT_EQ(outcome.out, "");
  }
  for (const auto& entry : fs::directory_iterator(folder())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("h.")) << entry.path();
  }
}

}  // namespace
}  // namespace weft::test

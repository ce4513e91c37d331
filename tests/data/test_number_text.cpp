// SPDX-License-Identifier: MIT
// Numbers as text: what is read, whatever the parts it arrives in, and what is written.
#include "data/number_text.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/data/files.h"

namespace weft::data {
namespace {

using test::expect_error;
using test::values_of;

NpyArray read(const std::string& text, std::size_t part = 1 << 20) {
  NumberReader reader("numbers.txt");
  for (std::size_t at = 0; at < text.size(); at += part) reader.feed(text.substr(at, part));
  return reader.finish();
}

TEST(NumberText, WholeNumbersStayIntegers) {
  const NpyArray array =
      read("1 2,3\n\t-4, +5\r\n9223372036854775807 # 6 seven\n-9223372036854775808");
  EXPECT_EQ(array.dtype, "i8");
  EXPECT_EQ(array.shape, std::vector<std::int64_t>{7});
  EXPECT_EQ(values_of<std::int64_t>(array),
            (std::vector<std::int64_t>{1, 2, 3, -4, 5, INT64_MAX, INT64_MIN}));
}

TEST(NumberText, LargeWholeNumbersAreUnsignedUnlessOneIsNegative) {
  const NpyArray array = read("3 9223372036854775808 18446744073709551615");
  EXPECT_EQ(array.dtype, "u8");
  EXPECT_EQ(values_of<std::uint64_t>(array),
            (std::vector<std::uint64_t>{3, std::uint64_t{1} << 63, UINT64_MAX}));
  for (const char* text : {"9223372036854775808 -1", "-1 9223372036854775808"}) {
    const NpyArray mixed = read(text);
    EXPECT_EQ(mixed.dtype, "f8") << text;
    std::vector<double> values = values_of<double>(mixed);
    std::sort(values.begin(), values.end());
    EXPECT_EQ(values, (std::vector<double>{-1, 0x1p63})) << text;
  }
  EXPECT_EQ(read("18446744073709551616").dtype, "f8");
}

TEST(NumberText, OneFractionMakesAllOfThemFloats) {
  for (const std::string text : {"1 2.5 3", "1\n2.5\n3\n", "1e0,25e-1,+3."}) {
    const NpyArray array = read(text);
    EXPECT_EQ(array.dtype, "f8") << text;
    EXPECT_EQ(values_of<double>(array), (std::vector<double>{1, 2.5, 3})) << text;
  }
  EXPECT_EQ(values_of<double>(read("7 18446744073709551616")),
            (std::vector<double>{7, 18446744073709551616.0}));
  const std::vector<double> special = values_of<double>(read("nan -inf Infinity 1e999 -1e-999"));
  ASSERT_EQ(special.size(), 5u);
  EXPECT_TRUE(std::isnan(special[0]));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(special[1], -kInfinity);
  EXPECT_EQ(special[2], kInfinity);
  EXPECT_EQ(special[3], kInfinity);
  EXPECT_EQ(special[4], 0.0);
}

TEST(NumberText, PartsMayBeCutAnywhere) {
  const std::string text = "12 345,6.5#comment 7\n-8e1 # more\n\n9\n";
  const std::vector<double> expected = {12, 345, 6.5, -80, 9};
  for (std::size_t part = 1; part <= text.size(); ++part) {
    EXPECT_EQ(values_of<double>(read(text, part)), expected) << part;
  }
  EXPECT_EQ(values_of<std::int64_t>(read("12", 1)), std::vector<std::int64_t>{12});
}

TEST(NumberText, AByteOrderMarkAndCommasAtTheEndOfALineSayNothing) {
  const std::string mark = "\xef\xbb\xbf";
  for (const std::string text : {"1,2,\n3,\n", "1 , 2 # x\n3\n", "# x\n1 2 3"}) {
    for (std::size_t part = 1; part <= mark.size() + text.size(); ++part) {
      EXPECT_EQ(values_of<std::int64_t>(read(mark + text, part)),
                (std::vector<std::int64_t>{1, 2, 3}))
          << text << part;
    }
  }
  expect_error(ErrorKind::data, {"holds no numbers"}, [&] { read(mark); });
}

TEST(NumberText, MistakesNameTheLine) {
  const auto refused = [](const std::string& text, const std::string& part) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{1000}}) {
      expect_error(ErrorKind::data, {"numbers.txt", part}, [&] { read(text, step); });
    }
  };
  refused("1\n2\nthree\n4", "line 3: 'three' is not a number");
  refused("1 2 # x\n3;4", "line 2: '3;4'");
  refused("0x10", "line 1: '0x10'");
  refused("1.5.2", "line 1");
  refused("--1", "line 1");
  refused("+-1", "line 1");
  refused("+", "line 1");
  refused("1 -", "line 1: '-'");
  refused("\x89PNG\n", "line 1: '?PNG'");
  refused("1 " + std::string(5000, '7') + "x", "line 1: '777777777777777777777777...'");
  refused("", "holds no numbers");
  refused(" \n# 1\n", "holds no numbers");
  refused("1,,2", "line 1: no number before a comma");
  refused("1, ,2", "line 1: no number before a comma");
  refused("1,2\n,3", "line 2: no number before a comma");
  refused("1,2,# 3\n4,,\n", "line 2: no number before a comma");
  refused("\xef\xbb\xbf,1", "line 1: no number before a comma");
  refused("1 \xef\xbb\xbf 2", "is not a number");
}

TEST(NumberText, WritesTheFewestDigitsThatReadBack) {
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(0.1f), "0.1");
  EXPECT_EQ(number_text(static_cast<double>(0.1f)), "0.10000000149011612");
  EXPECT_EQ(number_text(55.0), "55.0");
  EXPECT_EQ(number_text(-0.0), "-0.0");
  EXPECT_EQ(number_text(1e300), "1e+300");
  EXPECT_EQ(number_text(std::int64_t{INT64_MIN}), "-9223372036854775808");
  EXPECT_EQ(number_text(std::numeric_limits<float>::infinity()), "inf");
  EXPECT_EQ(number_text(UINT64_MAX), "18446744073709551615");
  EXPECT_EQ(number_text(std::int8_t{65}), "65");
  std::string lines = "x";
  append_lines<std::int32_t>(lines, std::vector<std::int32_t>{1, -20, 300});
  EXPECT_EQ(lines, "x1\n-20\n300\n");

  const std::vector<double> values = {0.0,  -0.0,  1.0 / 3, 5e-324, 1.7976931348623157e308,
                                      1e15, -1e16, 123456.0};
  std::string text;
  append_lines<double>(text, values);
  const NpyArray back = read(text);
  EXPECT_EQ(back.dtype, "f8");
  ASSERT_EQ(back.bytes.size(), values.size() * sizeof(double));
  EXPECT_EQ(std::memcmp(back.bytes.data(), values.data(), back.bytes.size()), 0) << text;
}

}  // namespace
}  // namespace weft::data

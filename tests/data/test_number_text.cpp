// SPDX-License-Identifier: MIT
// Numbers as text: what is read, whatever the parts it arrives in, and what is written.
#include "data/arrays/number_text.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/data/files.h"

namespace weft::data {
namespace {

using test::expect_error;
using test::values_of;

NpyArray read(const std::string& text, std::size_t part = 1 << 20,
              const TextOptions& options = {}) {
  NumberReader reader("numbers.txt", options);
  for (std::size_t at = 0; at < text.size(); at += part) reader.feed(text.substr(at, part));
  return reader.finish();
}

TEST(NumberText, WholeNumbersStayIntegers) {
  const NpyArray array =
      read("1 2 3\n\t-4, +5\r\n9223372036854775807 # 6 seven\n-9223372036854775808");
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
  const std::string text = "12 345 6.5#comment 7\n-8e1 # more\n\n9\n";
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
  refused("\x89PNG\n", R"(line 1: '\x89PNG')");
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

// What is read with a column, and cut anywhere.
std::vector<double> column_of(const std::string& text, const TextOptions& options) {
  std::vector<double> first;
  for (const std::size_t part : {std::size_t{1000}, std::size_t{1}, std::size_t{7}}) {
    const NpyArray array = read(text, part, options);
    std::vector<double> values;
    if (array.dtype == "f8") {
      values = values_of<double>(array);
    } else {
      for (const std::int64_t value : values_of<std::int64_t>(array)) {
        values.push_back(static_cast<double>(value));
      }
    }
    if (first.empty()) first = values;
    EXPECT_EQ(values, first) << part;
  }
  return first;
}

void expect_text_refused(const std::string& text, const std::vector<std::string>& parts,
                         const TextOptions& options = {}, ErrorKind kind = ErrorKind::data) {
  for (const std::size_t part : {std::size_t{1}, std::size_t{1000}}) {
    expect_error(kind, parts, [&] { read(text, part, options); });
  }
}

TEST(NumberText, AHeaderIsRecognised) {
  const auto note = [](const std::string& text, const TextOptions& options = {}) {
    NumberReader reader("x", options);
    reader.feed(text);
    reader.finish();
    return reader.notes().empty() ? "" : reader.notes()[0];
  };
  EXPECT_EQ(column_of("price\n1\n2\n", {}), (std::vector<double>{1, 2}));
  EXPECT_EQ(note("price\n1\n2\n"), "line 1 is a header: 'price'");
  EXPECT_EQ(note("\xef\xbb\xbf# of today\n\n \"price (EUR)\" \r\n1\n2\n"),
            "line 3 is a header: ' \"price (EUR)\"'");
  EXPECT_EQ(note("Channel 1\n1.5\n2"), "line 1 is a header: 'Channel 1'");
  EXPECT_EQ(note("1\n2\n"), "");
  EXPECT_EQ(note("nan\n2\n"), "");  // a number
  // A first line that is half a header, or damaged, is neither.
  expect_text_refused("0x10\n5\n", {"line 1: '0x10' is not a number"});
  expect_text_refused("NA,1,2\n3,4,5\n", {"line 1: 'NA' is not a number"});
  expect_text_refused("NA 1 2\n3 4 5\n", {"'NA 1 2' is neither a header nor numbers", "--skip"});
  expect_text_refused("one\ntwo\n3\n", {"line 2: 'two' is not a number"});
  expect_text_refused("price\n", {"line 1: 'price' is not a number, and none follows"});
}

TEST(NumberText, CommasAndBlanksInOneLineAreRefused) {
  for (const char* text : {"1,5 2,5", "3\n1,5 2,5\n", "1 2,3", "1,2 3,\n", "1 , 2 3"}) {
    expect_text_refused(text, {"both commas and blanks part numbers", "--delimiter"});
  }
  EXPECT_EQ(column_of("1, 2 ,3", {}), (std::vector<double>{1, 2, 3}));  // blanks part nothing
  EXPECT_EQ(column_of("1,2,3 # 4 5", {}), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(column_of("1 2\n3,4,5", {}), (std::vector<double>{1, 2, 3, 4, 5}));
  const TextOptions blanks{.delimiter = ' '}, commas{.delimiter = ','};
  EXPECT_EQ(column_of("1,5 2,5", blanks), (std::vector<double>{1.5, 2.5}));
  EXPECT_EQ(column_of("1,5\n-2,25\n3\n", blanks), (std::vector<double>{1.5, -2.25, 3}));
  EXPECT_EQ(column_of("1,2, 3", commas), (std::vector<double>{1, 2, 3}));
  expect_text_refused("1,5 2,5", {"line 1: '5 2' is not a number"}, commas);
  expect_text_refused("1,234,567", {"line 1: '1,234,567' is not a number"}, blanks);
  expect_text_refused("1,234.5", {"line 1: '1,234.5' is not a number"}, blanks);
  NumberReader reader("x", blanks);
  reader.feed("1,5 2,5");
  reader.finish();
  EXPECT_EQ(reader.notes(),
            std::vector<std::string>{"took '1,5' for 1.5, as --delimiter a blank says"});
}

TEST(NumberText, ATableNeedsAColumn) {
  for (const char* text :
       {"1 2\n3 4\n", "1,2\n3,4", "1\t2\n\n3\t4", "a,b\n1,2\n", "a;b\n1 2\n", "a b\n1 2\n"}) {
    expect_text_refused(text, {"a table of 2 columns", "--column"});
  }
  expect_text_refused("1;2\n3;4\n", {"a table of 2 columns"}, {.delimiter = ';'});
  expect_text_refused("1,5\n2\n3,25\n", {"--delimiter ' ' reads decimal commas"});
  // One column, one line, or lines that mean nothing.
  EXPECT_EQ(column_of("1\n2\n3\n", {}), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(column_of("1,\n2,\n3,\n", {}), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(column_of("1 2 3\n", {}), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(column_of("Values:\n1 2 3\n4 5\n", {}), (std::vector<double>{1, 2, 3, 4, 5}));
  EXPECT_EQ(column_of("1 2 3\n4 5\n", {}), (std::vector<double>{1, 2, 3, 4, 5}));
  EXPECT_EQ(column_of("1,2,\n3,\n", {}), (std::vector<double>{1, 2, 3}));
}

TEST(NumberText, AColumnByNameOrNumber) {
  const std::string table =
      "\xef\xbb\xbf\"day, month\",close,volume # of 2026\n"
      "\"27, Nov\", 1.5 ,3\n# none\n\n\"28, Nov\",\"2.5\",4\r\n29,3,5";
  const std::vector<double> close = {1.5, 2.5, 3}, volume = {3, 4, 5};
  EXPECT_EQ(column_of(table, {.column = "close"}), close);
  EXPECT_EQ(column_of(table, {.column = "2"}), close);
  EXPECT_EQ(column_of(table, {.column = "3"}), volume);
  EXPECT_EQ(column_of(table, {.column = "volume", .delimiter = ','}), volume);
  EXPECT_EQ(column_of("1 2\n3 4\n", {.column = "all"}), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(column_of("t  v\n 1\t2\n3 4", {.column = "v"}), (std::vector<double>{2, 4}));
  EXPECT_EQ(column_of("id;2019;2020\nx;1,5;2\ny;2,5;3\n", {.column = "2019", .delimiter = ';'}),
            (std::vector<double>{1.5, 2.5}));
  EXPECT_EQ(column_of("5\n6\n", {.column = "1"}), (std::vector<double>{5, 6}));
  EXPECT_EQ(column_of("made by x\n2 lines\n1 2\n3 4\n", {.column = "2", .skip = 2}),
            (std::vector<double>{2, 4}));
  EXPECT_EQ(column_of("made by x\n7\n8", {.skip = 1}), (std::vector<double>{7, 8}));
}

TEST(NumberText, AColumnThatIsNotThere) {
  const auto refused = [](const std::string& text, const std::string& column,
                          const std::string& part) {
    expect_text_refused(text, {"numbers.txt", part}, {.column = column}, ErrorKind::usage);
  };
  refused("a,b\n1,2\n", "bb", "did you mean 'b'?");
  refused("a,b\n1,2\n", "price", "no column has this name; the header is 'a,b'");
  refused("1,2\n", "a", "there is no header with names");
  refused("a,b\n1,2\n", "3", "expected 1 to 2");
  refused("a,b\n1,2\n", "0", "expected 1 to 2");
  refused("a,a\n1,2\n", "a", "two columns have this name");
  refused("a,b,c\n1,2\n", "a", "the header has 3 names, but line 2 has 2 fields");
  const TextOptions second{.column = "2"};
  expect_text_refused("1,2\n3\n", {"line 2: 1 fields, expected 2"}, second);
  expect_text_refused("1,2\n3,\"\",4\n", {"line 2: 3 fields, expected 2"}, second);
  expect_text_refused("1,,2\n", {"line 1: a field without a number"}, second);
  expect_text_refused("1,NA\n", {"line 1: 'NA' is not a number"}, second);
  expect_text_refused("2,NA\n", {"line 1: 'NA' is not a number"}, second);
  expect_text_refused("1,2;3\n", {"both ',' and ';' may part its fields"}, second);
  expect_text_refused("1,5 2,5\n", {"both commas and blanks part numbers"}, second);
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

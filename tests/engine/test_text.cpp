// SPDX-License-Identifier: MIT
// What is printed of a stranger's text, in each medium.
#include "engine/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace weft {
namespace {

TEST(Text, WhatIsUnprintableBecomesVisible) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"plain, 'text' & \\", "plain, 'text' & \\"},
      {"é 日本 👩\u200d💻 \u0639\u0631\u0628\u064a", "é 日本 👩\u200d💻 \u0639\u0631\u0628\u064a"},
      {"a\nb\rc\td", "a\\nb\\rc\\td"},
      {"\x1b[31m\x07\x7f", "\\x1b[31m\\x07\\x7f"},
      {"\u0080\u0085\u009b31m", "\\u0080\\u0085\\u009b31m"},
      {"\u061c\u200e\u200f\u202a\u202e\u2066\u2069",
       "\\u061c\\u200e\\u200f\\u202a\\u202e\\u2066\\u2069"},
      {"\u2028\u2029\u200b\ufeff\uffff\U0010ffff",
       "\\u2028\\u2029\\u200b\\ufeff\\uffff\\U0010ffff"},
      {"\x9b"
       "31m",
       "\\x9b31m"},
      {"\xc0\xaf \xe0\x80\xaf \xf0\x80\x80\xaf", "\\xc0\\xaf \\xe0\\x80\\xaf \\xf0\\x80\\x80\\xaf"},
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
      {"\xf4\x90\x80\x80\xff", "\\xf4\\x90\\x80\\x80\\xff"},
      {"cut \xe6\x97", "cut \\xe6\\x97"},
      {"\xc3(", "\\xc3("}};
  for (const auto& [text, printed] : cases) {
    EXPECT_EQ(printable(text), printed);
    EXPECT_EQ(printable(printed), printed);  // what was printed once stays
  }
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

// Every byte alone, and every pair after each beginning of a character.
TEST(Text, NothingUnprintableComesOut) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      for (const std::string_view before : {"", "\xe2", "\xf0\x9f", "\xc2"}) {
        const std::string text =
            std::string(before) + static_cast<char>(first) + static_cast<char>(second);
        const std::string printed = printable(text);
        EXPECT_TRUE(is_utf8(printed));
        EXPECT_EQ(printed, printable(printed));
        const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
        EXPECT_TRUE(std::ranges::none_of(printed, is_control)) << printed;
      }
    }
  }
}

TEST(Text, LinesTabsAndColoursStayWhereTheyMay) {
  const std::string_view text = "a\r\nb\tc\x1b[1;31md\x1b[0m\x1b[2J\x1b]0;x\x07\r";
  EXPECT_EQ(printable(text, {.lines = true, .tabs = true, .styles = true}),
            "a\nb\tc\x1b[1;31md\x1b[0m\\x1b[2J\\x1b]0;x\\x07\\r");
  EXPECT_EQ(printable("é\x1b[1m", {.beyond_ascii = false}), "\\u00e9\\x1b[1m");
}

TEST(Text, AMessageShowsABeginning) {
  EXPECT_EQ(shown("a\x1b"), "'a\\x1b'");
  EXPECT_EQ(in_quotes("b"), "\"b\"");
  EXPECT_EQ(shown("abcdef", 3), "'abc...'");
  EXPECT_EQ(shown("ab日本", 4), "'ab...'");  // no character is cut in two
  EXPECT_EQ(beginning("\x80\x80\x80\x80\x80", 4).size(), 1u);
}

TEST(Text, AShellReadsTheSameWord) {
  EXPECT_EQ(shell_word("a-b/c.d"), "a-b/c.d");
  EXPECT_EQ(shell_word("it's $(x)"), "'it'\\''s $(x)'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a'\\\x1b\u202e日"), "$'a\\'\\\\\\x1b\\xe2\\x80\\xae日'");
  EXPECT_EQ(shell_quoted("a\x1b"), "'a\x1b'");
}

TEST(Text, FieldsOfCsv) {
  const std::pair<std::string_view, std::string_view> cases[] = {{"plain", "plain"},
                                                                 {"a,b", "\"a,b\""},
                                                                 {"say \"a\"", "\"say \"\"a\"\"\""},
                                                                 {"a\nb", "a\\nb"},
                                                                 {"=1+1", "'=1+1"},
                                                                 {"@x", "'@x"},
                                                                 {"-1", "-1"},
                                                                 {"+2.5e-3", "+2.5e-3"},
                                                                 {"-.5", "-.5"},
                                                                 {"-1+1", "'-1+1"},
                                                                 {"--1", "'--1"},
                                                                 {"-", "'-"},
                                                                 {"+", "'+"},
                                                                 {"-inf", "'-inf"},
                                                                 {"1=1", "1=1"},
                                                                 {"=a;\"b\"", "\"'=a;\"\"b\"\"\""},
                                                                 {"＝1", "'＝1"}};
  for (const auto& [text, field] : cases) EXPECT_EQ(csv_field(text), field);
}

TEST(Text, HtmlIsTextAlone) {
  EXPECT_EQ(html_text("<a b='c' d=\"e\">&amp;\x1b\u202e"),
            "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;amp;\\x1b\\u202e");
  EXPECT_EQ(html_text("a\nb", {.lines = true}), "a\nb");
}

TEST(Text, JsonKeepsItsStrings) {
  EXPECT_EQ(json_escaped("{\"é日\": \"\x7f\u009b\u202e\u2028\"}\n"),
            "{\"é日\": \"\\u007f\\u009b\\u202e\\u2028\"}\n");
  EXPECT_EQ(json_escaped("\"\U0010ffff\""), "\"\\udbff\\udfff\"");
  EXPECT_EQ(json_escaped("\"\xff\""), "\"\\ufffd\"");
  EXPECT_EQ(json_in_html("\"</script>\""), "\"\\u003c/script>\"");
}

TEST(Text, APageIsFilledInOnePass) {
  const Part parts[] = {{"a", "{{b}}"}, {"b", "{{a}}"}};
  EXPECT_EQ(filled("{{a}}-{{b}}-{{c}}-{{{{a}}", parts), "{{b}}-{{a}}-{{c}}-{{{{b}}");
  EXPECT_EQ(filled("{{a", parts), "{{a");
  EXPECT_EQ(filled("", parts), "");
}

TEST(Text, Base64) {
  const std::vector<std::uint8_t> bytes = {'f', 'o', 'o', 'b', 0xff};
  EXPECT_EQ(base64(std::span(bytes).first(0)), "");
  EXPECT_EQ(base64(std::span(bytes).first(1)), "Zg==");
  EXPECT_EQ(base64(std::span(bytes).first(2)), "Zm8=");
  EXPECT_EQ(base64(std::span(bytes).first(3)), "Zm9v");
  EXPECT_EQ(base64(bytes), "Zm9vYv8=");
}

}  // namespace
}  // namespace weft

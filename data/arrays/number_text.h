// SPDX-License-Identifier: MIT
// Numbers as text: white space or commas between them, '#' to the end of a line a comment. A comma
// follows a number, and ends a line at most: a cell without a number is refused, not left out. A
// byte-order mark of UTF-8 may come first, and then a header.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/arrays/number_list.h"
#include "engine/error.h"

namespace weft::data {

struct TextOptions {
  // "all", the name of a column in the header, or its number from 1. Empty: the text has one
  // column, or is a stream of numbers whose lines mean nothing.
  std::string column = {};
  char delimiter = '\0';  // ',', ';', a tab or a blank, for any white space; 0: the text tells
  std::int64_t skip = 0;  // lines at the beginning
};

// Reads numbers from text that arrives in parts cut anywhere. "nan", "inf" and exponents are
// numbers too. Throws data with the line for anything else, or when there is no number at all. A
// header line and what was assumed are in notes().
//
// Refused, unless the options say how it is meant: a line in which both commas and blanks part
// numbers, and a table of several columns, which is lines of equally many numbers. With a column or
// a delimiter each line is a row of fields, which may be in double quotes. In the columns that are
// not wanted there may be anything.
class NumberReader {
 public:
  explicit NumberReader(std::string name, TextOptions options = {});

  void feed(std::string_view text);
  NpyArray finish();
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  Error bad(const std::string& what) const;
  void read_head();
  void forward(std::string_view text);
  void feed_stream(std::string_view text);
  void feed_rows(std::string_view text);
  void token(std::string_view text);
  void comma();
  void refuse_mixed() const;
  void end_line();
  void read_row(std::string_view line);
  void find_column(std::size_t columns);
  void take(std::string_view field);
  void check_columns() const;

  std::string name_;
  TextOptions options_;
  bool has_rows_;  // the text is read as rows of fields
  std::vector<std::string> notes_;
  NumberList numbers_;
  std::int64_t line_ = 1, skipped_ = 0;

  std::string head_;  // the first line with something in it, until all of it is there
  bool begins_ = true, has_head_ = false;
  std::string header_;
  std::int64_t header_line_ = 0;

  std::string begun_;  // a token or a row that the last part cut off
  bool in_comment_ = false;

  // What the current line has shown so far.
  bool after_number_ = false;  // with white space between at most
  bool after_comma_ = false, parts_by_comma_ = false, parts_by_blank_ = false;
  bool has_loose_comma_ = false;  // with a blank beside it
  std::int64_t in_line_ = 0, commas_ = 0;
  char separator_ = '\n';  // the last one

  // Counts over the lines with numbers.
  std::int64_t lines_ = 0, columns_ = 0, pairs_ = 0, singles_ = 0;
  bool is_ragged_ = false;

  // What is known of a table with rows of fields.
  char delimiter_ = '\0';
  std::size_t column_ = 0;  // from 1; 0: all
  bool has_decimal_commas_ = false;
};

// One number per line. Floats have the fewest digits that read back as the same value of their
// type, and a point or an exponent even when they are whole, so that they stay floats.
template <class T>  // an integer of 8 to 64 bits, float, double
void append_lines(std::string& out, std::span<const T> values);
template <class T>
std::string number_text(T value);

}  // namespace weft::data

// SPDX-License-Identifier: MIT
// Numbers as text: white space and commas between them, '#' to the end of a line a comment. A comma
// follows a number, and ends a line at most: a cell without a number is refused, not left out. A
// byte-order mark of UTF-8 may come first.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "data/npy.h"

namespace weft::data {

// Reads numbers from text that arrives in parts cut anywhere. Whole numbers stay integers as long
// as all of them are and fit int64, or all of them fit uint64; otherwise everything is a double.
// "nan", "inf" and exponents are numbers too. Throws data with the line for anything else, or when
// there is no number at all.
class NumberReader {
 public:
  explicit NumberReader(std::string name) : name_(std::move(name)) {}

  void feed(std::string_view text);
  NpyArray finish();  // "i8", "u8" or "f8", one axis

 private:
  void token(std::string_view text);
  void comma();
  void append(const void* value);
  void become_real();

  std::string name_;
  std::string begun_;   // a token that the last part cut off
  bool begins_ = true;  // before the first token
  bool in_comment_ = false, real_ = false;
  bool has_negative_ = false;    // among the whole numbers
  bool needs_unsigned_ = false;  // one of them is 2^63 or more
  bool after_number_ = false;    // of this line, with white space between at most
  std::int64_t line_ = 1;
  std::vector<std::byte> bytes_;  // 8 for each number
};

// One number per line. Floats have the fewest digits that read back as the same value of their
// type, and a point or an exponent even when they are whole, so that they stay floats.
template <class T>  // an integer of 8 to 64 bits, float, double
void append_lines(std::string& out, std::span<const T> values);
template <class T>
std::string number_text(T value);

}  // namespace weft::data

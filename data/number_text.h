// SPDX-License-Identifier: MIT
// Numbers as text: white space and commas between them, '#' to the end of a line a comment.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "data/npy.h"

namespace weft::data {

// Reads numbers from text that arrives in parts cut anywhere. Whole numbers stay integers as long
// as all of them are and fit 64 bits; otherwise everything is a double. "nan", "inf" and exponents
// are numbers too. Throws data with the line for anything else, or when there is no number at all.
class NumberReader {
 public:
  explicit NumberReader(std::string name) : name_(std::move(name)) {}

  void feed(std::string_view text);
  NpyArray finish();  // "i8" or "f8", one axis

 private:
  void token(std::string_view text);
  void append(const void* value);
  void become_real();

  std::string name_;
  std::string begun_;  // a token that the last part cut off
  bool in_comment_ = false, real_ = false;
  std::int64_t line_ = 1;
  std::vector<std::byte> bytes_;  // 8 for each number
};

// One number per line. Floats have the fewest digits that read back as the same value of their
// type, and a point or an exponent even when they are whole, so that they stay floats.
template <class T>  // std::int32_t, std::int64_t, float, double
void append_lines(std::string& out, std::span<const T> values);
template <class T>
std::string number_text(T value);

}  // namespace weft::data

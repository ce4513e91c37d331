// SPDX-License-Identifier: MIT
// Numbers of a type that is known only when the last one is there.
#pragma once

#include <string_view>
#include <vector>

#include "data/arrays/npy.h"

namespace weft::data {

// The numbers of a text. Whole numbers stay integers as long as all of them are and fit int64, or
// all of them fit uint64; otherwise everything is a double.
class NumberList {
 public:
  bool add(std::string_view text);  // false, and nothing added, when it is no number
  bool empty() const { return bytes_.empty(); }
  NpyArray take();  // "i8", "u8" or "f8", one axis

 private:
  void append(const void* value);
  void become_real();

  bool real_ = false;
  bool has_negative_ = false;     // among the whole numbers
  bool needs_unsigned_ = false;   // one of them is 2^63 or more
  std::vector<std::byte> bytes_;  // 8 for each number
};

// No number has more characters; all digits of any double fit.
inline constexpr std::size_t kLongestToken = 400;

}  // namespace weft::data

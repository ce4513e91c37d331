// SPDX-License-Identifier: MIT
// The lines of a table, from memory or from a file of which a piece at a time is in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/files/file_io.h"

namespace weft::data {

class TableText {
 public:
  // All of it, in memory that outlives this.
  explicit TableText(std::string_view whole) : whole_(whole), bytes_(whole.size()) {}
  // Throws data, then and later, for a file that cannot be read or gets shorter.
  explicit TableText(std::unique_ptr<InputFile> file);

  std::uint64_t bytes() const { return bytes_; }

  // The next line, without its end, until the next call; nothing behind the last one. Throws data
  // for a line of more than kLongestLine bytes.
  std::optional<std::string_view> next();

  // Rows from all parts of what next() has not given yet, for a table that is sorted by its labels
  // shows one of them at its beginning. All rows of a short table.
  std::vector<std::string> sample() const;

  static constexpr std::size_t kPiece = std::size_t{1} << 20;  // bytes of a file in memory
  static constexpr std::size_t kLongestLine = std::size_t{1} << 26;

 private:
  std::string_view left() const { return whole_.substr(at_); }
  void fill();
  // The line that begins behind the first line feed at or behind `at`.
  std::string line_behind(std::uint64_t at) const;

  std::string_view whole_;  // what is in memory
  std::size_t at_ = 0;      // of it is given
  std::uint64_t bytes_ = 0;
  std::unique_ptr<InputFile> file_ = {};
  std::uint64_t read_ = 0;  // bytes of the file
  std::string piece_ = {};
};

}  // namespace weft::data

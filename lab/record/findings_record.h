// SPDX-License-Identifier: MIT
// The findings and notes of a student's program, on their way to `weft lab run`, which writes them
// as documents.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace weft::lab {

struct FoundRecord {
  std::string kind, kernel, text, line;  // "race"; empty for host code; a sentence; "x.cu:7"
  bool is_note = false;
  std::size_t more = 0;  // how often it was met again
};

// Replaces the file, which is private to the two. Throws data when it cannot be written.
void write_found(const std::vector<FoundRecord>& found, const std::string& path);
// Throws data when the file is none that write_found() has written.
std::vector<FoundRecord> read_found(const std::string& path);

}  // namespace weft::lab

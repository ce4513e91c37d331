// SPDX-License-Identifier: MIT
// The layouts of data that load_own_data() reads. docs/own-data.md has them as a table.
#pragma once

#include <span>
#include <string_view>

namespace weft::data {

struct ReadLayout {
  std::string_view kind;   // "pictures", "tables", ...
  std::string_view files;  // how they are named and laid out
  std::string_view from;   // who writes them so
};

std::span<const ReadLayout> read_layouts();

}  // namespace weft::data

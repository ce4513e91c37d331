// SPDX-License-Identifier: MIT
// Names that a person types or a file holds: lists of them, and "did you mean ...?" for misspelt
// ones. engine/text.h says how a message shows them.
#pragma once

#include <algorithm>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct Names : std::vector<std::string_view> {
  using vector::vector;
  template <std::ranges::range Range>
  Names(const Range& names) : vector(std::ranges::begin(names), std::ranges::end(names)) {}
};

std::string joined(const Names& names, std::string_view by = ", ");  // "mnist, kmnist"

// The one of `names` that `word` was meant to be, or "" when none is near.
std::string nearest_name(std::string_view word, const Names& names);

// Throws Error{usage}: "unknown WHAT 'word'; did you mean 'x'?", or the list when none is near.
[[noreturn]] void throw_unknown(std::string_view what, std::string_view word, const Names& names);

// The names of the rows of a table, for the functions above.
template <class Rows>
Names names_of(const Rows& rows) {
  Names names;
  for (const auto& row : rows) names.push_back(row.name);
  return names;
}

// The row of a table that has this name.
template <class Rows>
const auto& row_named(const Rows& rows, std::string_view what, std::string_view name) {
  for (const auto& row : rows) {
    if (row.name == name) return row;
  }
  throw_unknown(what, name, names_of(rows));
}

// A value of an enum with its name.
template <class Value>
struct Named {
  std::string_view name;
  Value value;
};

template <class Rows, class Value>
std::string_view name_in(const Rows& rows, Value value) {
  return std::ranges::find(rows, value, [](const auto& row) { return row.value; })->name;
}

}  // namespace weft

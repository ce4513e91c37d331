// SPDX-License-Identifier: MIT
// The kinds of findings and notes of `weft lab`, by their names on the command line.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace weft::lab {

struct FindingKind {
  const char* name;  // "out-of-bounds"; messages begin with it, with blanks
  const char* what;  // a sentence for `weft lab run --help` and SARIF
  bool is_note = false;
};
const std::vector<FindingKind>& finding_kinds();
// Null when there is none of that name.
const FindingKind* find_kind(const std::string& name);
// "out-of-bounds" for "out of bounds"
std::string flag_name(std::string kind);

// The words of --check: a number of seconds from 0 on, or `all`.
inline constexpr double kCheckAll = std::numeric_limits<double>::infinity();
std::optional<double> check_seconds(const std::string& text);

}  // namespace weft::lab

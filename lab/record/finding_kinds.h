// SPDX-License-Identifier: MIT
// The kinds of findings and notes of `weft lab`, by their names on the command line.
#pragma once

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

}  // namespace weft::lab

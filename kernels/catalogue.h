// SPDX-License-Identifier: MIT
// Every kernel family of Weft in one list. Adding a family is one line in families.inc.
#pragma once

#include <span>
#include <string_view>

#include "kernels/ladder.h"

namespace weft::kernels {

struct Family {
  std::string_view name;
  std::string_view summary;   // one sentence
  Rungs (*rungs)();           // in teaching order
  std::string_view folder;    // under kernels/
  std::string_view function;  // of Python; "": what a rung calls its operation, or none
};

std::span<const Family> catalogue();
const Family* find_family(std::string_view name);  // null when there is none
// `name`, as long as the program lives: of a rung of the family, or `automatic`. Throws usage with
// the names that there are.
std::string_view rung_name(std::string_view family, std::string_view name);

}  // namespace weft::kernels

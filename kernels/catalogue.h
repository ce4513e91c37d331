// SPDX-License-Identifier: MIT
// Every kernel family of Weft in one list. Adding a family is one line in catalogue.cpp.
#pragma once

#include <span>
#include <string_view>

#include "kernels/common.h"

namespace weft::kernels {

struct Family {
  std::string_view name;     // its folder under kernels/
  std::string_view summary;  // one sentence
  std::span<const VariantInfo> (*variants)();
};

std::span<const Family> catalogue();
const Family* find_family(std::string_view name);  // null when there is none
const VariantInfo* find_variant(const Family& family, std::string_view name);

}  // namespace weft::kernels

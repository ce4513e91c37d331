// SPDX-License-Identifier: MIT
// Calls of host functions in device code, which nvcc refuses and a host compiler does not see.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/tokens.h"
#include "lab/translate/rewrite.h"

namespace weft::lab {

struct SourceText {
  std::string_view text;
  const Tokens* tokens;
};

// For each source of a program its calls, by a function of which every declaration is seen to be
// the host's. What a macro or a template may hide is taken to be the device's.
std::vector<std::vector<Refusal>> calls_of_host_functions(const std::vector<SourceText>& sources);

}  // namespace weft::lab

// SPDX-License-Identifier: MIT
// Under compute-sanitizer each memory access costs a thousand times more: WEFT_SMALL_TESTS=1 keeps
// the tests to cases of little work.
#pragma once

#include <cstdlib>

namespace weft::test {

inline bool small_tests() {
  return std::getenv("WEFT_SMALL_TESTS") != nullptr;
}

// Is a case of so many floating-point operations left out? Nothing is, outside sanitizer runs.
inline bool too_large(double flops) {
  return small_tests() && flops > 4e6;
}

}  // namespace weft::test

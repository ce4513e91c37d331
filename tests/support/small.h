// SPDX-License-Identifier: MIT
// Under compute-sanitizer each memory access costs a thousand times more: WEFT_SMALL_TESTS=1 keeps
// the tests to few cases of little work, which still take every path of every kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

namespace weft::test {

inline bool small_tests() {
  return std::getenv("WEFT_SMALL_TESTS") != nullptr;
}

// Is a case of so many floating-point operations left out? Nothing is, outside sanitizer runs;
// there WEFT_SMALL_TESTS=200000 lowers the limit to that.
inline bool too_large(double flops) {
  if (!small_tests()) return false;
  const double limit = std::atof(std::getenv("WEFT_SMALL_TESTS"));
  return flops > (limit > 1 ? limit : 4e6);
}

// The sizes of a test, or the few that a sanitizer run needs.
inline std::vector<std::int64_t> sizes_here(const std::vector<std::int64_t>& all,
                                            const std::vector<std::int64_t>& few) {
  return small_tests() ? few : all;
}
// The same for tables of cases.
template <class Case, std::size_t kAll, std::size_t kFew>
std::span<const Case> all_or_few(const Case (&all)[kAll], const Case (&few)[kFew]) {
  return small_tests() ? std::span<const Case>(few) : std::span<const Case>(all);
}

}  // namespace weft::test

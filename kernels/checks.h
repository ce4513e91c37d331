// SPDX-License-Identifier: MIT
// Checks that the dispatchers of all families (kernels/FAMILY/FAMILY.cpp) share.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "engine/error.h"

namespace weft::kernels {

// The product of the extents; throws usage when one is negative or the product overflows.
inline std::int64_t checked_elements(std::string_view where,
                                     std::initializer_list<std::int64_t> extents) {
  std::int64_t product = 1;
  bool overflow = false;
  bool empty = false;
  for (const std::int64_t extent : extents) {
    if (extent < 0) throw Error(ErrorKind::usage, str(where, ": negative extent ", extent));
    empty = empty || extent == 0;
    overflow = __builtin_mul_overflow(product, extent, &product) || overflow;
  }
  if (empty) return 0;
  if (overflow) throw Error(ErrorKind::usage, str(where, ": more than 2^63 elements"));
  return product;
}

}  // namespace weft::kernels

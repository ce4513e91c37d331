// SPDX-License-Identifier: MIT
// cooperative_groups::reduce of the threads of a tile, or of some lanes of a warp.
#pragma once

#include <cooperative_groups.h>

#include "host_cuda/language/macros_hidden.inc"

namespace cooperative_groups {

#define WEFT_OPERATION(name, expression)                                          \
  template <class T>                                                              \
  struct name {                                                                   \
    constexpr T operator()(T a, T b) const { return static_cast<T>(expression); } \
  };
WEFT_OPERATION(plus, a + b)
WEFT_OPERATION(less, b < a ? b : a)
WEFT_OPERATION(greater, a < b ? b : a)
WEFT_OPERATION(bit_and, a& b)
WEFT_OPERATION(bit_or, a | b)
WEFT_OPERATION(bit_xor, a ^ b)
#undef WEFT_OPERATION

template <unsigned kSize, class Parent, class T, class Operation>
T reduce(const thread_block_tile<kSize, Parent>& tile, T value, Operation operation) {
  for (unsigned distance = kSize / 2; distance > 0; distance /= 2) {
    value = operation(value, tile.shfl_xor(value, static_cast<int>(distance)));
  }
  return value;
}
template <class T, class Operation>
T reduce(const coalesced_group& group, T value, Operation operation) {
  T total = group.shfl(value, 0);
  for (unsigned rank = 1; rank < group.size(); ++rank) {
    total = operation(total, group.shfl(value, rank));
  }
  return total;
}

}  // namespace cooperative_groups

#include "host_cuda/language/macros_shown.inc"

// SPDX-License-Identifier: MIT
// cooperative_groups::inclusive_scan and exclusive_scan of the threads of a tile.
#pragma once

#include <cooperative_groups/reduce.h>

#include "host_cuda/language/macros_hidden.inc"

namespace cooperative_groups {

template <unsigned kSize, class Parent, class T, class Operation = plus<T>>
T inclusive_scan(const thread_block_tile<kSize, Parent>& tile, T value, Operation operation = {}) {
  for (unsigned distance = 1; distance < kSize; distance *= 2) {
    const T before = tile.shfl_up(value, distance);
    if (tile.thread_rank() >= distance) value = operation(before, value);
  }
  return value;
}
template <unsigned kSize, class Parent, class T, class Operation = plus<T>>
T exclusive_scan(const thread_block_tile<kSize, Parent>& tile, T value, Operation operation = {}) {
  const T before = tile.shfl_up(inclusive_scan(tile, value, operation), 1);
  return tile.thread_rank() == 0 ? T{} : before;
}

}  // namespace cooperative_groups

#include "host_cuda/language/macros_shown.inc"

// SPDX-License-Identifier: MIT
// cooperative_groups::memcpy_async: words of 4 bytes, each copied asynchronously by one thread.
#pragma once

#include <cooperative_groups.h>

#include "host_cuda/language/macros_hidden.inc"

namespace cooperative_groups {

template <class Group>
void memcpy_async(const Group& group, void* to, const void* from, std::size_t bytes) {
  for (std::size_t at = 4 * group.thread_rank(); at < bytes; at += 4 * group.size()) {
    weft::host_cuda::async_copy(static_cast<char*>(to) + at, static_cast<const char*>(from) + at, 4,
                                4);
  }
  weft::host_cuda::async_commit();
}
template <class Group>
[[gnu::always_inline]] inline void wait(const Group& group) {
  weft::host_cuda::async_wait(0);
  group.sync();
}

}  // namespace cooperative_groups

#include "host_cuda/language/macros_shown.inc"

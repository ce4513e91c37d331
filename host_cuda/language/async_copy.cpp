// SPDX-License-Identifier: MIT
#include "host_cuda/language/async_copy.h"

#include <algorithm>
#include <cstring>

#include "host_cuda/checks/checks.h"
#include "host_cuda/grid.h"

namespace weft::host_cuda {

void async_copy(void* shared, const void* global, int bytes, int read) {
  const void* site = __builtin_return_address(0);
  const AsyncCopy copy{shared, global, static_cast<std::size_t>(bytes),
                       static_cast<std::size_t>(read), running->commits};
  aligned_access(shared, copy.bytes, copy.bytes, Access::async_write, site);
  if (read > 0) aligned_access(global, copy.bytes, copy.read, Access::read, site);
  const Unchecked here;
  if (running->pending.empty()) running->copies.push_back(copy);  // else a side of it is bad
}

void async_commit() {
  ++running->commits;
}

void async_wait(int pending) {
  const Unchecked here;
  Thread& self = *running;
  const auto done = std::find_if(self.copies.begin(), self.copies.end(), [&](const AsyncCopy& one) {
    return one.group + static_cast<std::uint32_t>(pending) >= self.commits;
  });
  for (auto copy = self.copies.begin(); copy != done; ++copy) {
    auto* to = static_cast<char*>(copy->shared);
    if (copy->read > 0) std::memcpy(to, copy->global, copy->read);  // else `global` may be null
    std::memset(to + copy->read, 0, copy->bytes - copy->read);
    if (!blocks_are_checked) continue;
    self.block->shared.arrived(reinterpret_cast<std::uintptr_t>(to), copy->bytes, self.id);
  }
  self.copies.erase(self.copies.begin(), done);
}

}  // namespace weft::host_cuda

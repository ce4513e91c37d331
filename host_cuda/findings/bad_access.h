// SPDX-License-Identifier: MIT
// An access that a thread must not make, in a grid that goes on after findings. The hook in front
// of it cannot leave it out, so memory is prepared: the access meets zeroes, or a page that is made
// for it. Two hooks later it has been made, and what was there before is put back. So a bad read
// gives zeroes, and a bad write changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "host_cuda/memory/shadow.h"

namespace weft::host_cuda {

struct PendingAccess {
  std::uintptr_t address = 0;
  std::size_t bytes = 0;
  Access access{};
  int hooks_left = 2;
  std::vector<char> before, met;      // what was there, and what the access meets
  std::vector<std::uintptr_t> pages;  // that were made for it
  const void* site = nullptr;         // of one whose value is compared
  Finding finding{};                  // what it is then
  bool is_shared = false;
};

// False where the memory cannot be prepared: an address that no page can have, or too many bytes.
bool prepare_bad_access(Thread& by, std::uintptr_t address, std::size_t bytes, Access access);

// A plain write that races with another thread's write is about to be made. It is a note where both
// have written the same value, else the finding. Either is told when the write has been made.
void compare_values_later(Thread& by, const Finding& finding, Access access, bool is_shared,
                          std::uintptr_t address, std::size_t bytes, const void* site);

// Before each access of a thread that has something to put back or to compare.
void settle_accesses(Thread& by);
// When the thread comes to a barrier or its end: its accesses have all been made.
void settle_all_accesses(Thread& by);
// The grid has ended: what was there is put back.
void abandon_accesses(Thread& of);

}  // namespace weft::host_cuda

// SPDX-License-Identifier: MIT
// What happens at each memory access of a thread: bounds, races, uninitialised reads, counts.
#pragma once

#include <cstdint>

#include "host_cuda/grid.h"

namespace weft::host_cuda {

void begin_checks(const Grid& grid);
Segment first_segment_of_grid();

// The running thread hands over to another one after some accesses that `random` decides; 0: never.
void schedule_preemption(std::uint64_t random);
void yield();
void poll();  // the same, of a thread that waits for memory to change

// Ends the grid: the address of an access is not a multiple of the alignment.
[[noreturn]] void misaligned(const void* address, std::size_t alignment, Access access,
                             const void* site);

// An access of the running thread that an instruction makes, to `bytes` from an address that has to
// be a multiple of `alignment`.
void aligned_access(const void* address, std::size_t alignment, std::size_t bytes, Access access,
                    const void* site);

}  // namespace weft::host_cuda

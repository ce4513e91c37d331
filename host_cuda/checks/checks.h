// SPDX-License-Identifier: MIT
// What happens at each memory access of a thread: bounds, races, uninitialised reads, counts.
#pragma once

#include <array>
#include <cstdint>

#include "host_cuda/grid.h"
#include "host_cuda/memory/symbols.h"

namespace weft::host_cuda {

void begin_checks(const Grid& grid);
Segment first_segment_of_grid();

// The running thread hands over to another one after some accesses that `random` decides; 0: never.
void schedule_preemption(std::uint64_t random);
void yield();
void others_catch_up();  // the same, in an access of the thread
void poll();             // the same, of a thread that waits for memory to change

// Ends the grid, or tells: the address of an access is not a multiple of the alignment.
void misaligned(const void* address, std::size_t alignment, Access access, const void* site);

// A plain access of the running thread, or of host code where none runs.
void memory_access(const void* pointer, std::size_t bytes, Access access, const void* site);
extern int accesses_until_yield;  // 0: the thread is not interrupted
// The __shared__ variables of late, by the slot of 64 KiB of their address.
extern std::array<const Variable*, 64> recent_variables;

// An access of the running thread that an instruction makes, to `bytes` from an address that has to
// be a multiple of `alignment`.
void aligned_access(const void* address, std::size_t alignment, std::size_t bytes, Access access,
                    const void* site);

}  // namespace weft::host_cuda

extern "C" char weft_shared_begin[], weft_shared_end[];  // where __shared__ variables lie

// SPDX-License-Identifier: MIT
// What happens at each memory access of a thread: bounds, races, uninitialised reads, counts.
#pragma once

#include <cstdint>

#include "engine/host_cuda/grid.h"

namespace weft::host_cuda {

void begin_checks(const Grid& grid);

// The running thread hands over to another one after some accesses that `random` decides; 0: never.
void schedule_preemption(std::uint64_t random);
void yield();
void poll();  // the same, of a thread that waits for memory to change

}  // namespace weft::host_cuda

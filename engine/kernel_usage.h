// SPDX-License-Identifier: MIT
// What a piece of work launches on a GPU, and what each of its kernels uses: registers, shared
// memory, occupancy and the resource that limits it. Students work this out by hand; here the
// compiler and the driver tell.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "engine/stream.h"

namespace weft {

struct KernelUsage {
  std::string name;  // as in the source, without its parameters
  std::array<unsigned, 3> grid{}, block{};
  int registers = 0;             // of one thread
  std::size_t shared_bytes = 0;  // of one block, static and dynamic
  std::size_t local_bytes = 0;   // of one thread: spilled registers and arrays
  int blocks_per_multiprocessor = 0;
  double occupancy = 0;  // resident warps over those that an SM can hold
  std::string limit;     // "registers", "shared memory", "threads", "blocks"
};

// Captures `work` (which is not run) and describes its kernels in the order of their launch. Empty
// on the CPU. What `work` does must be allowed in a Graph.
std::vector<KernelUsage> kernels_launched_by(const std::function<void()>& work,
                                             const Stream& stream);

}  // namespace weft

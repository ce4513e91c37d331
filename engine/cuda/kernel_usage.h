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

#include "engine/device.h"

namespace weft {

struct KernelUsage {
  const void* kernel = nullptr;  // as launch() got it: the same for the same instantiation
  std::string symbol;            // as in the object file
  std::string name;              // as in the source, without its parameters
  std::array<unsigned, 3> grid{}, block{};
  // The rest is a GPU's, and 0 on host-cuda:
  int registers = 0;             // of one thread
  std::size_t shared_bytes = 0;  // of one block, static and dynamic
  std::size_t local_bytes = 0;   // of one thread: spilled registers and arrays
  int blocks_per_multiprocessor = 0;
  double occupancy = 0;  // resident warps over those that an SM can hold
  std::string limit;     // "registers", "shared memory", "threads", "blocks"
};

// Runs `work` and describes the kernels that it launches from this thread on `device`, in the order
// of their launch. Empty on the CPU.
std::vector<KernelUsage> kernels_launched_by(const std::function<void()>& work, Device device);

}  // namespace weft

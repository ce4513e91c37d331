// SPDX-License-Identifier: MIT
// Transfers from ordinary memory, which the system may move: the driver copies it through a pinned
// buffer of its own.
#include <cstdlib>

#include "kernels/memory/launchers.h"

namespace weft::kernels::cuda {

HostAllocation memory_pageable_transfer(std::size_t bytes, Device) {
  return {std::malloc(bytes), std::free};
}

}  // namespace weft::kernels::cuda

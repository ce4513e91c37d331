// SPDX-License-Identifier: MIT
// Gathers the accesses of single threads into requests of warps. Internal.
#pragma once

#include <cstdint>

#include "engine/access_counts.h"
#include "engine/host_cuda/grid.h"

namespace weft::host_cuda {

bool counting();

void count_access(const Thread& thread, std::uintptr_t address, std::size_t bytes, AccessKind kind,
                  const void* site);
void count_launch(const Grid& grid);
void count_block_end(const Block& block);  // its open requests are complete

}  // namespace weft::host_cuda

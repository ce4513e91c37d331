// SPDX-License-Identifier: MIT
// Kernels that a kernel launches (CUDA Programming Guide, "CUDA Dynamic Parallelism"). CUDA leaves
// open when such a grid runs, up to the end of the grid that has launched it. Here it runs at that
// end, behind those that were launched before. So the two never run at the same time, and a race
// between them is not seen.
#pragma once

#include <functional>

#include "host_cuda/language/runtime_api.h"

namespace weft::host_cuda {

// A thread of the running grid launches: `launch` starts the other grid. The error is that of too
// many launches within each other.
cudaError_t launch_behind_grid(std::function<void()> launch);
// The grid has ended: all that was launched runs.
void run_launched_grids();
// Has a kernel launched another one? Then blocks run in this process.
bool kernels_launch();

}  // namespace weft::host_cuda

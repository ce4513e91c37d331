// SPDX-License-Identifier: MIT
// Static __shared__ variables exist once in the program. Of blocks that run together, one has them
// in place, and the others keep copies of those that the grid has touched so far.
#pragma once

#include "host_cuda/grid.h"

namespace weft::host_cuda {

// At the start of a grid whose blocks run together: none is touched yet.
void begin_statics();

void save_statics(Block& block);
void load_statics(const Block& block);

}  // namespace weft::host_cuda

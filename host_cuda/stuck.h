// SPDX-License-Identifier: MIT
// Why the threads of a block wait for ever.
#pragma once

#include "host_cuda/grid.h"

namespace weft::host_cuda {

// Gives set_failure() the mistake in a sentence: a lane that a warp's operation names and that does
// not come, a barrier that some threads are not at, or a deadlock. The block has a thread that has
// not returned.
void explain_stuck(const Block& block);

}  // namespace weft::host_cuda

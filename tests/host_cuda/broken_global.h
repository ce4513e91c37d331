// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "engine/stream.h"

namespace weft::test {

constexpr int kGlobalBlocks = 4, kGlobalThreads = 64;

// Launches the kernel of that name on kGlobalBlocks blocks. `x` and `y` have a word for each
// thread; x is counted up from 0, with a 0 behind, and nobody has written y. `host` is host memory.
void run_global(const std::string& kernel, int* x, int* y, int* host, const Stream& stream);

}  // namespace weft::test

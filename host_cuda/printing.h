// SPDX-License-Identifier: MIT
// What kernels print. A GPU prints a statement for all lanes of a warp that are at it. Here threads
// run one after another, so what they print is kept until a barrier or the end of their block, and
// is printed then warp by warp, statement by statement.
#pragma once

#include <string>

#include "host_cuda/grid.h"

namespace weft::host_cuda {

// The running thread prints the text by the statement with this return address.
void print_later(const void* site, std::string text);
// To stdout.
void flush_printed(Block& block);

}  // namespace weft::host_cuda

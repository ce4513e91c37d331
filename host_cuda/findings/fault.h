// SPDX-License-Identifier: MIT
// What the processor refuses to do in the code of a kernel is a finding, too: an access of a block
// that is not checked (sample.h) to where no memory is, and on x86-64 an integer division by zero.
#pragma once

namespace weft::host_cuda {

// From now on a SIGSEGV in the code of a kernel ends the grid, and not the program. The kind is
// that of a checked access: a null pointer, or out of bounds. A SIGFPE is an integer division.
void catch_faults();

}  // namespace weft::host_cuda

// SPDX-License-Identifier: MIT
// An access of a block that is not checked (sample.h) to where no memory is: it is a finding too.
#pragma once

namespace weft::host_cuda {

// From now on a SIGSEGV in the code of a kernel ends the grid, and not the program. The kind is
// that of a checked access: a null pointer, or out of bounds.
void catch_faults();

}  // namespace weft::host_cuda

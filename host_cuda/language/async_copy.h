// SPDX-License-Identifier: MIT
// Asynchronous copies to shared memory (PTX ISA, "cp.async"). A copy is checked where it is
// started. Its bytes arrive when its thread waits for its group, and no sooner; who uses them
// earlier is reported.
#pragma once

namespace weft::host_cuda {

// Starts a copy of 4, 8 or 16 bytes, to which both addresses are aligned: the first `read` bytes
// from global memory, and zeros behind them.
void async_copy(void* shared, const void* global, int bytes, int read);
void async_commit();
void async_wait(int pending);

}  // namespace weft::host_cuda

// SPDX-License-Identifier: MIT
// Control of the layer that runs CUDA kernels on the host, for programs and tests.
#pragma once

namespace weft::host_cuda {

// How many orders of its threads each grid runs in, on the same input; the results must be the same
// bits. 1 unless WEFT_HOST_CUDA_SCHEDULES says otherwise.
void set_schedules(int count);
// Does a grid run in an order after the first?
bool repeating();

}  // namespace weft::host_cuda

// SPDX-License-Identifier: MIT
// Control of the layer that runs CUDA kernels on the host, for programs and tests.
#pragma once

namespace weft::host_cuda {

// How many orders of its threads each grid runs in, on the same input; the results must be the same
// bits. 1 unless WEFT_HOST_CUDA_SCHEDULES says otherwise, up to 1000.
void set_schedules(int count);
// Does a grid run in an order after the first?
bool repeating();
// How many multiprocessors the device says that it has, by which many kernels choose their grids:
// 4, or WEFT_HOST_CUDA_MULTIPROCESSORS, up to 1024.
int multiprocessors();
// A function that is asked, each time that the threads of a grid take turns, whether the grid shall
// end. A grid that ends so throws Error{check_failed}. Null, as at the start: none is asked.
void set_stop(bool (*stop_requested)());

}  // namespace weft::host_cuda

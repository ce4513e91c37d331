// SPDX-License-Identifier: MIT
// Failures of the device that the environment asks for, so that programs can be tested with them.
#pragma once

#include <cstddef>

namespace weft::host_cuda {

// WEFT_HOST_CUDA_MEMORY=MIB: so much memory the device has. Otherwise a quarter of the machine's:
// a program has its arrays on the host, too, and the checks remember what was done to each.
std::size_t device_memory_bytes();

// WEFT_HOST_CUDA_LOST_AFTER=N: the device is lost when N kernels have run. From then on nothing
// runs, and calls of the runtime return cudaErrorLaunchFailure, as they do for a GPU.
bool next_kernel_runs();
bool device_is_lost();

}  // namespace weft::host_cuda

// SPDX-License-Identifier: MIT
// Control of the layer that runs CUDA kernels on the host, for programs and tests.
#pragma once

#include <cstdint>

namespace weft::host_cuda {

// How many orders of its threads each grid runs in, on the same input; the results must be the same
// bits. 1 unless WEFT_HOST_CUDA_SCHEDULES says otherwise, up to 1000.
void set_schedules(int count);
// Does a grid run in an order after the first?
bool repeating();
// How many multiprocessors the device says that it has, by which many kernels choose their grids:
// 4, or WEFT_HOST_CUDA_MULTIPROCESSORS, up to 1024.
int multiprocessors();
inline constexpr int kBlocksPerMultiprocessor = 2;  // that are resident at once
// What cudaDriverGetVersion() and cudaRuntimeGetVersion() say: 12000 is 12.0, and 0 is none.
void set_cuda_version(int version);
// The most blocks that a kernel gets which loops over the rest (blocks_for() of engine/launch.h):
// WEFT_HOST_CUDA_MOST_BLOCKS, or 2^31 - 1, as many as a GPU has.
std::int64_t most_blocks();

}  // namespace weft::host_cuda

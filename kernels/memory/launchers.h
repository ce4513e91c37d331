// SPDX-License-Identifier: MIT
// The functions behind memory.h on a GPU: the launcher of a rung, which its file in rungs/ defines,
// of the type of its operation. Extents are positive.
#pragma once

#include "kernels/memory/memory.h"

namespace weft::kernels::cuda {

using VectorAddLauncher = void(float* c, const float* a, const float* b, std::int64_t n,
                               const Stream& stream);
using CopyLauncher = void(float* y, const float* x, std::int64_t n, const Access& access,
                          const Stream& stream);
// Adds to *sum.
using ReadLauncher = void(std::int64_t* sum, const std::int32_t* x, std::int64_t n,
                          const Access& access, const Stream& stream);
using SharedLauncher = void(std::uint32_t* sums, std::int64_t blocks, int stride, int rounds,
                            const Stream& stream);
using RowsLauncher = void(float* y, const float* x, std::int64_t rows, std::int64_t cols,
                          std::int64_t y_pitch, std::int64_t x_pitch, const Stream& stream);
// Host memory for transfers to and from a GPU, null when there is none left.
using HostAllocator = HostAllocation(std::size_t bytes, Device device);

// These rungs differ in what they are called with.
CopyLauncher copy_strided;
ReadLauncher read_strided;
RowsLauncher copy_rows;

}  // namespace weft::kernels::cuda

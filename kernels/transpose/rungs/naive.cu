// SPDX-License-Identifier: MIT
// Transpose, rung "naive": one thread per element.
//
// Neighbouring threads read neighbouring elements of a row of x, so a warp reads 128 bytes in a
// row. It writes a column of y: 32 elements that are a row of y apart, each in a sector of 32 bytes
// of its own. Exchanging the two would coalesce the writes and scatter the reads.
#include "engine/launch.h"
#include "kernels/device/vector.cuh"
#include "kernels/transpose/launchers.h"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    transpose_naive_kernel(float* __restrict__ y, const float* __restrict__ x, std::int64_t rows,
                           std::int64_t cols) {
  const std::int64_t elements = rows * cols;
  for (std::int64_t i = device::global_thread(); i < elements; i += device::grid_threads()) {
    y[i % cols * rows + i / cols] = x[i];
  }
}

}  // namespace

void transpose_naive(float* y, const float* x, const TransposeDims& dims, const Stream& stream) {
  launch(transpose_naive_kernel, Launch{blocks_for(dims.elements(), kThreads), kThreads, 0, stream},
         y, x, dims.rows, dims.cols);
}

}  // namespace weft::kernels::cuda

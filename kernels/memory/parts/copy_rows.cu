// SPDX-License-Identifier: MIT
// Copies rows that lie `pitch` elements apart: a warp per row and step, lanes along the row.
#include "engine/launch.h"
#include "kernels/device/warp.cuh"
#include "kernels/memory/launchers.h"

namespace weft::kernels::cuda {

namespace {

constexpr int kWarps = 8;
constexpr int kThreads = kWarps * device::kWarpSize;

__global__ void __launch_bounds__(kThreads)
    copy_rows_kernel(float* __restrict__ y, const float* __restrict__ x, std::int64_t rows,
                     std::int64_t cols, std::int64_t y_pitch, std::int64_t x_pitch) {
  const int lane = static_cast<int>(threadIdx.x) % device::kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / device::kWarpSize;
  for (std::int64_t row = std::int64_t{blockIdx.x} * kWarps + warp; row < rows;
       row += std::int64_t{gridDim.x} * kWarps) {
#pragma unroll 4
    for (std::int64_t c = lane; c < cols; c += device::kWarpSize) {
      y[row * y_pitch + c] = x[row * x_pitch + c];
    }
  }
}

}  // namespace

void copy_rows(float* y, const float* x, std::int64_t rows, std::int64_t cols, std::int64_t y_pitch,
               std::int64_t x_pitch, const Stream& stream) {
  launch(copy_rows_kernel, Launch{blocks_for(rows, kWarps), kThreads, 0, stream}, y, x, rows, cols,
         y_pitch, x_pitch);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// Mean squared error with a warp per row: the loss and its gradient in one pass. Lanes stride over
// the columns; the sum of a row is a butterfly of shuffles.
#include "engine/launch.h"
#include "kernels/device/warp.cuh"
#include "kernels/loss/loss.h"

namespace weft::kernels::cuda {

namespace {

constexpr int kWarps = 8;  // rows per block
constexpr int kThreads = kWarps * device::kWarpSize;

__global__ void __launch_bounds__(kThreads)
    mean_squared_error_kernel(float* __restrict__ loss, float* __restrict__ dy,
                              const float* __restrict__ y, const float* __restrict__ target,
                              float mean, float slope, std::int64_t rows, std::int64_t cols) {
  const std::int64_t row =
      static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / device::kWarpSize;
  if (row >= rows) return;  // the whole warp leaves; there is no block barrier
  const int lane = static_cast<int>(threadIdx.x) % device::kWarpSize;
  float sum = 0.0f;
  for (std::int64_t c = lane; c < cols; c += device::kWarpSize) {
    const float difference = y[row * cols + c] - target[row * cols + c];
    sum += difference * difference;
    if (dy != nullptr) dy[row * cols + c] = slope * difference;
  }
  sum = device::warp_reduce(sum, device::Add());
  if (loss != nullptr && lane == 0) loss[row] = sum * mean;
}

}  // namespace

void mean_squared_error_warp_per_row(float* loss, float* dy, const float* y, const float* target,
                                     float scale, std::int64_t rows, std::int64_t cols,
                                     const Stream& stream) {
  const float mean = 1.0f / static_cast<float>(cols);
  launch(mean_squared_error_kernel, Launch{blocks_for(rows, kWarps), kThreads, 0, stream}, loss, dy,
         y, target, mean, scale * 2 * mean, rows, cols);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// The moving average of the weights: one pass, 16 bytes per load. It is a kernel of its own and not
// a part of the SGD update because the buffers of batch norm are averaged as well.
#include "engine/launch.h"
#include "kernels/device/vector.cuh"
#include "kernels/optimizer/optimizer.h"
#include "kernels/optimizer/parts/ema.h"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    ema_kernel(float* __restrict__ average, const float* __restrict__ values, std::int64_t n,
               float decay, const std::int64_t* step) {
  const float rate = ema::rate(decay, *step);
  const std::int64_t stride = 4 * device::grid_threads();
  for (std::int64_t first = 4 * device::global_thread(); first < n; first += stride) {
    device::Float4 a = device::load4(average, first, n);
    const device::Float4 value = device::load4(values, first, n);
#pragma unroll
    for (int i = 0; i < 4; ++i) a.lane[i] += rate * (value.lane[i] - a.lane[i]);
    device::store4(average, first, n, a);
  }
}

}  // namespace

void ema_update(float* average, const float* values, std::int64_t n, float decay,
                const std::int64_t* step, const Stream& stream) {
  launch(ema_kernel, Launch{blocks_for(n, 4 * kThreads, 1 << 20), kThreads, 0, stream}, average,
         values, n, decay, step);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// The SGD update in one pass over the flat buffers, 16 bytes per load: parameter, velocity and
// gradient are read once, parameter and velocity written once. The learning rate comes from memory,
// so that a captured graph can be replayed; its latency overlaps with that of the first loads.
#include "engine/launch.h"
#include "kernels/device/vector.cuh"
#include "kernels/optimizer/optimizer.h"
#include "kernels/optimizer/parts/rule.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256;

template <bool kMomentum>
__global__ void __launch_bounds__(kThreads)
    sgd_kernel(float* __restrict__ parameters, float* __restrict__ velocity,
               const float* __restrict__ gradients, std::int64_t n, const float* lr,
               const std::int64_t* step, float momentum, float decay, bool nesterov) {
  const SgdRule rule{lr[*step], momentum, decay, nesterov};
  const std::int64_t stride = 4 * device::grid_threads();
  for (std::int64_t first = 4 * device::global_thread(); first < n; first += stride) {
    device::Float4 p = device::load4(parameters, first, n);
    const device::Float4 gradient = device::load4(gradients, first, n);
    device::Float4 v = kMomentum ? device::load4(velocity, first, n) : device::Float4{};
#pragma unroll
    for (int i = 0; i < 4; ++i) rule.apply(p.lane[i], v.lane[i], gradient.lane[i]);
    device::store4(parameters, first, n, p);
    if (kMomentum) device::store4(velocity, first, n, v);
  }
}

__global__ void advance_kernel(std::int64_t* step) {
  *step += 1;
}

}  // namespace

void sgd_update(float* parameters, float* velocity, const float* gradients, std::int64_t n,
                const float* lr, const std::int64_t* step, const SgdOptions& options,
                const Stream& stream) {
  const Launch config{blocks_for(n, 4 * kThreads, 1 << 20), kThreads, 0, stream};
  if (options.momentum != 0) {
    launch(sgd_kernel<true>, config, parameters, velocity, gradients, n, lr, step, options.momentum,
           options.weight_decay, options.nesterov);
  } else {
    launch(sgd_kernel<false>, config, parameters, velocity, gradients, n, lr, step, 0.0f,
           options.weight_decay, false);
  }
}

void advance_step(std::int64_t* step, const Stream& stream) {
  launch(advance_kernel, Launch{1, 1, 0, stream}, step);
}

}  // namespace weft::kernels::cuda

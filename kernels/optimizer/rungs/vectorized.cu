// SPDX-License-Identifier: MIT
// The update in one pass over the flat buffers, 16 bytes per load: parameter, state (the velocity
// of SGD, the two moments of AdamW) and gradient are read once, parameter and state written once.
// The learning rate and the factor of clipping come from memory, so that a captured graph can be
// replayed; their latency overlaps with that of the first loads. It takes no shared memory. AdamW
// needs 48 registers: five blocks of 256 threads on an SM, each thread with four loads in flight.
#include "engine/launch.h"
#include "kernels/device/vector.cuh"
#include "kernels/optimizer/launchers.h"
#include "kernels/optimizer/parts/adamw.h"
#include "kernels/optimizer/parts/clip.h"
#include "kernels/optimizer/parts/sgd.h"

namespace weft::kernels::cuda {

namespace {

using namespace optimizer;  // AdamwStep, SgdStep and what they need

constexpr int kThreads = 256;

template <bool kMomentum>
__global__ void __launch_bounds__(kThreads)
    sgd_kernel(float* __restrict__ parameters, float* __restrict__ velocity,
               const float* __restrict__ gradients, std::int64_t n, const float* lr,
               const std::int64_t* step, float momentum, float decay, bool nesterov,
               GradientClip clip) {
  const SgdStep<float> rule({momentum, decay, nesterov}, lr[*step]);
  const float scale = gradient_scale(clip);
  const std::int64_t stride = 4 * device::grid_threads();
  for (std::int64_t first = 4 * device::global_thread(); first < n; first += stride) {
    device::Float4 p = device::load4(parameters, first, n);
    const device::Float4 gradient = device::load4(gradients, first, n);
    device::Float4 v = kMomentum ? device::load4(velocity, first, n) : device::Float4{};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      // Rounded before it is added: 1 times a gradient is that gradient, and so are the bits.
      rule.apply(p.lane[i], v.lane[i], __fmul_rn(scale, gradient.lane[i]));
    }
    device::store4(parameters, first, n, p);
    if (kMomentum) device::store4(velocity, first, n, v);
  }
}

__global__ void __launch_bounds__(kThreads)
    adamw_kernel(float* __restrict__ parameters, float* __restrict__ first,
                 float* __restrict__ second, const float* __restrict__ gradients, std::int64_t n,
                 AdamwConstants<float> constants, const float* lr, const std::int64_t* step,
                 GradientClip clip) {
  const AdamwStep<float> rule(constants, lr[*step], *step);
  const float scale = gradient_scale(clip);
  const std::int64_t stride = 4 * device::grid_threads();
  for (std::int64_t at = 4 * device::global_thread(); at < n; at += stride) {
    device::Float4 p = device::load4(parameters, at, n);
    device::Float4 m1 = device::load4(first, at, n);
    device::Float4 m2 = device::load4(second, at, n);
    const device::Float4 gradient = device::load4(gradients, at, n);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      rule.apply(p.lane[i], m1.lane[i], m2.lane[i], scale * gradient.lane[i]);
    }
    device::store4(parameters, at, n, p);
    device::store4(first, at, n, m1);
    device::store4(second, at, n, m2);
  }
}

__global__ void advance_kernel(std::int64_t* step) {
  *step += 1;
}

}  // namespace

void sgd_update_vectorized(float* parameters, float* velocity, const float* gradients,
                           std::int64_t n, const float* lr, const std::int64_t* step,
                           const SgdOptions& options, const GradientClip& clip,
                           const Stream& stream) {
  const Launch config{blocks_for(n, 4 * kThreads, 1 << 20), kThreads, 0, stream};
  if (options.momentum != 0) {
    launch(sgd_kernel<true>, config, parameters, velocity, gradients, n, lr, step, options.momentum,
           options.weight_decay, options.nesterov, clip);
  } else {
    launch(sgd_kernel<false>, config, parameters, velocity, gradients, n, lr, step, 0.0f,
           options.weight_decay, false, clip);
  }
}

void adamw_update_vectorized(float* parameters, float* first, float* second, const float* gradients,
                             std::int64_t n, const float* lr, const std::int64_t* step,
                             const AdamwOptions& options, const GradientClip& clip,
                             const Stream& stream) {
  launch(adamw_kernel, Launch{blocks_for(n, 4 * kThreads, 1 << 20), kThreads, 0, stream},
         parameters, first, second, gradients, n, AdamwConstants<float>(options), lr, step, clip);
}

void advance_step(std::int64_t* step, const Stream& stream) {
  launch(advance_kernel, Launch{1, 1, 0, stream}, step);
}

}  // namespace weft::kernels::cuda

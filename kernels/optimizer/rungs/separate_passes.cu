// SPDX-License-Identifier: MIT
// AdamW as a framework without fusion computes it: a kernel for each line of the rule, a thread for
// each parameter. Each kernel reads what the one before has just written, so a parameter costs 48
// bytes of traffic and four launches. It takes no shared memory.
#include "engine/launch.h"
#include "kernels/device/vector.cuh"
#include "kernels/optimizer/launchers.h"
#include "kernels/optimizer/parts/adamw.h"
#include "kernels/optimizer/parts/clip.h"

namespace weft::kernels::cuda {

namespace {

using namespace optimizer;  // AdamwStep and what it needs

constexpr int kThreads = 256;

// The first or the second moment.
template <bool kSecond>
__global__ void __launch_bounds__(kThreads)
    moment_kernel(float* __restrict__ moment, const float* __restrict__ gradients, std::int64_t n,
                  AdamwConstants<float> constants, const float* lr, const std::int64_t* step,
                  GradientClip clip) {
  const AdamwStep<float> rule(constants, lr[*step], *step);
  const float scale = gradient_scale(clip);
  for (std::int64_t i = device::global_thread(); i < n; i += device::grid_threads()) {
    if (kSecond) {
      rule.update_second(moment[i], scale * gradients[i]);
    } else {
      rule.update_first(moment[i], scale * gradients[i]);
    }
  }
}

__global__ void __launch_bounds__(kThreads)
    decay_kernel(float* parameters, std::int64_t n, AdamwConstants<float> constants,
                 const float* lr, const std::int64_t* step) {
  const AdamwStep<float> rule(constants, lr[*step], *step);
  for (std::int64_t i = device::global_thread(); i < n; i += device::grid_threads()) {
    rule.shrink(parameters[i]);
  }
}

__global__ void __launch_bounds__(kThreads)
    step_kernel(float* __restrict__ parameters, const float* __restrict__ first,
                const float* __restrict__ second, std::int64_t n, AdamwConstants<float> constants,
                const float* lr, const std::int64_t* step) {
  const AdamwStep<float> rule(constants, lr[*step], *step);
  for (std::int64_t i = device::global_thread(); i < n; i += device::grid_threads()) {
    rule.move(parameters[i], first[i], second[i]);
  }
}

}  // namespace

void adamw_update_separate_passes(float* parameters, float* first, float* second,
                                  const float* gradients, std::int64_t n, const float* lr,
                                  const std::int64_t* step, const AdamwOptions& options,
                                  const GradientClip& clip, const Stream& stream) {
  const AdamwConstants<float> constants(options);
  const Launch config{blocks_for(n, kThreads, 1 << 20), kThreads, 0, stream};
  launch(moment_kernel<false>, config, first, gradients, n, constants, lr, step, clip);
  launch(moment_kernel<true>, config, second, gradients, n, constants, lr, step, clip);
  launch(decay_kernel, config, parameters, n, constants, lr, step);
  launch(step_kernel, config, parameters, first, second, n, constants, lr, step);
}

}  // namespace weft::kernels::cuda

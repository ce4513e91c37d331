// SPDX-License-Identifier: MIT
// AdamW in one kernel, a thread for each parameter. Both moments stay in registers between the
// lines of the rule, and the factor of clipping is one value in memory that all threads read. So a
// parameter costs 28 bytes of traffic. A warp loads 128 bytes of each buffer at a time, and a
// thread has four loads in flight. It takes no shared memory.
#include "engine/launch.h"
#include "kernels/device/vector.cuh"
#include "kernels/optimizer/launchers.h"
#include "kernels/optimizer/parts/adamw.h"
#include "kernels/optimizer/parts/clip.h"

namespace weft::kernels::cuda {

namespace {

using namespace optimizer;  // AdamwStep and what it needs

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    adamw_fused_kernel(float* __restrict__ parameters, float* __restrict__ first,
                       float* __restrict__ second, const float* __restrict__ gradients,
                       std::int64_t n, AdamwConstants<float> constants, const float* lr,
                       const std::int64_t* step, GradientClip clip) {
  const AdamwStep<float> rule(constants, lr[*step], *step);
  const float scale = gradient_scale(clip);
  for (std::int64_t i = device::global_thread(); i < n; i += device::grid_threads()) {
    float parameter = parameters[i], mean = first[i], square = second[i];
    rule.apply(parameter, mean, square, scale * gradients[i]);
    parameters[i] = parameter;
    first[i] = mean;
    second[i] = square;
  }
}

}  // namespace

void adamw_update_fused(float* parameters, float* first, float* second, const float* gradients,
                        std::int64_t n, const float* lr, const std::int64_t* step,
                        const AdamwOptions& options, const GradientClip& clip,
                        const Stream& stream) {
  launch(adamw_fused_kernel, Launch{blocks_for(n, kThreads, 1 << 20), kThreads, 0, stream},
         parameters, first, second, gradients, n, AdamwConstants<float>(options), lr, step, clip);
}

}  // namespace weft::kernels::cuda

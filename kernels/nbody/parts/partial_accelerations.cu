// SPDX-License-Identifier: MIT
// The deterministic end of the kernels that split the work on a body over blocks: a thread adds the
// slices of one coordinate of one body in order.
#include "kernels/nbody/parts/partial_accelerations.cuh"

#include "engine/launch.h"

namespace weft::kernels::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    sum_slices_kernel(float* __restrict__ acceleration, const float* __restrict__ partial,
                      std::int64_t values, std::int64_t stride, int slices, float gravity,
                      bool add) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= values) return;
  float sum = 0;
#pragma unroll 8
  for (int s = 0; s < slices; ++s) sum += partial[s * stride + i];
  acceleration[i] = add ? fmaf(gravity, sum, acceleration[i]) : gravity * sum;
}

}  // namespace

void sum_partial_accelerations(float4* acceleration, const float4* partial, std::int64_t n,
                               std::int64_t stride, int slices, float gravity, const Stream& stream,
                               bool add) {
  launch(sum_slices_kernel, Launch{blocks_for(4 * n, kThreads), kThreads, 0, stream},
         reinterpret_cast<float*>(acceleration), reinterpret_cast<const float*>(partial), 4 * n,
         4 * stride, slices, gravity, add);
}

}  // namespace weft::kernels::cuda

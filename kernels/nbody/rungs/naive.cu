// SPDX-License-Identifier: MIT
// N-body, rung "naive": one thread per body, which walks over all bodies in global memory.
//
// All threads of a warp read the same quad at the same time, so that one 16-byte load, served by
// the L1 cache, feeds 32 interactions. A thread has one load for about 18 instructions. Each
// interaction waits for its own load, so latency decides.
#include "engine/launch.h"
#include "kernels/nbody/parts/interaction.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    nbody_naive_kernel(float4* __restrict__ acceleration, const float4* __restrict__ bodies,
                       std::int64_t n, NbodyForce force) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const float4 self = bodies[i];
  const float3 a = sum_of_pulls(n, [&](float3& part, std::int64_t j) {
    const float4 other = bodies[j];
    pull_plain(part, other.x - self.x, other.y - self.y, other.z - self.z, other.w,
               force.softening2);
  });
  acceleration[i] = finished(a, force.gravity);
}

}  // namespace

void nbody_naive(float* acceleration, const float* bodies, std::int64_t n, const NbodyForce& force,
                 void* /*workspace*/, const Stream& stream) {
  launch(nbody_naive_kernel, Launch{blocks_for(n, kThreads), kThreads, 0, stream},
         reinterpret_cast<float4*>(acceleration), reinterpret_cast<const float4*>(bodies), n,
         force);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// N-body, rung "struct_of_arrays": one array for each coordinate and one for the masses.
//
// Now a thread's own body is read coalesced, and what is not needed (velocities) stays away. The
// walk over j still takes four loads for each interaction, of neighbouring addresses in time: the
// next seven iterations find theirs in the same 32-byte sectors.
#include "engine/launch.h"
#include "kernels/nbody/parts/interaction.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    to_arrays_kernel(float* __restrict__ arrays, const float4* __restrict__ bodies,
                     std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const float4 body = bodies[i];
  arrays[i] = body.x;
  arrays[n + i] = body.y;
  arrays[2 * n + i] = body.z;
  arrays[3 * n + i] = body.w;
}

__global__ void __launch_bounds__(kThreads)
    nbody_arrays_kernel(float4* __restrict__ acceleration, const float* __restrict__ arrays,
                        std::int64_t n, NbodyForce force) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const float *xs = arrays, *ys = xs + n, *zs = ys + n, *masses = zs + n;  // (n,) each
  const float x = xs[i], y = ys[i], z = zs[i];
  const float3 a = sum_of_pulls(n, [&](float3& part, std::int64_t j) {
    pull_plain(part, xs[j] - x, ys[j] - y, zs[j] - z, masses[j], force.softening2);
  });
  acceleration[i] = finished(a, force.gravity);
}

}  // namespace

void nbody_struct_of_arrays(float* acceleration, const float* bodies, std::int64_t n,
                            const NbodyForce& force, void* workspace, const Stream& stream) {
  float* arrays = static_cast<float*>(workspace);  // (4, n): x, y, z, mass
  const Launch config{blocks_for(n, kThreads), kThreads, 0, stream};
  launch(to_arrays_kernel, config, arrays, reinterpret_cast<const float4*>(bodies), n);
  launch(nbody_arrays_kernel, config, reinterpret_cast<float4*>(acceleration), arrays, n, force);
}

}  // namespace weft::kernels::cuda

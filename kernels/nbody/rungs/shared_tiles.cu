// SPDX-License-Identifier: MIT
// N-body, rung "shared_tiles": a block stages a tile of bodies in shared memory.
//
//   bodies j   | tile 0 | tile 1 | tile 2 | ...     each thread brings one body of a tile,
//   thread i   ------> walks along ------->         all threads read all of them
//
// Global memory is read once per block instead of once per warp, and the inner loop waits for
// shared memory only. The place of a body past n is taken by one without mass. 256 threads, 4 KiB
// of shared memory. One 16-byte shared load for each interaction remains.
#include "engine/launch.h"
#include "kernels/nbody/parts/interaction.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kThreads = 256;  // bodies of a tile

__global__ void __launch_bounds__(kThreads)
    nbody_shared_tiles_kernel(float4* __restrict__ acceleration, const float4* __restrict__ bodies,
                              std::int64_t n, NbodyForce force) {
  __shared__ float4 tile[kThreads];
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const float4 none = make_float4(0, 0, 0, 0);
  const float4 self = i < n ? bodies[i] : none;
  float3 a = {0, 0, 0};
  for (std::int64_t first = 0; first < n; first += kThreads) {
    const std::int64_t j = first + threadIdx.x;
    tile[threadIdx.x] = j < n ? bodies[j] : none;
    __syncthreads();
    float3 part = {0, 0, 0};  // a tile's pulls are added on their own, for small rounding errors
#pragma unroll 16
    for (int k = 0; k < kThreads; ++k) {
      const float4 other = tile[k];
      pull_plain(part, other.x - self.x, other.y - self.y, other.z - self.z, other.w,
                 force.softening2);
    }
    a = make_float3(a.x + part.x, a.y + part.y, a.z + part.z);
    __syncthreads();  // the tile is read before the next one overwrites it
  }
  if (i < n) acceleration[i] = finished(a, force.gravity);
}

}  // namespace

void nbody_shared_tiles(float* acceleration, const float* bodies, std::int64_t n,
                        const NbodyForce& force, void* /*workspace*/, const Stream& stream) {
  launch(nbody_shared_tiles_kernel, Launch{blocks_for(n, kThreads), kThreads, 0, stream},
         reinterpret_cast<float4*>(acceleration), reinterpret_cast<const float4*>(bodies), n,
         force);
}

}  // namespace weft::kernels::cuda

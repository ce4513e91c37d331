// SPDX-License-Identifier: MIT
// What moves the bodies, and what tells whether they moved well: the leapfrog's kick and drift, and
// energy, momentum and angular momentum in double.
//
// The totals take two kernels: blocks of 128 bodies write 8 partial sums each, one block adds them
// in order. The potential walks over all pairs in tiles; a term is computed in fp32, 32 terms are
// added in fp32, everything else in double, so that also GPUs with few double units keep up.
#include "engine/launch.h"
#include "kernels/device/block.cuh"
#include "kernels/nbody/launchers.h"

namespace weft::kernels::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    advance_kernel(float4* __restrict__ bodies, float4* __restrict__ velocity,
                   const float4* __restrict__ acceleration, std::int64_t n, float kick,
                   float drift) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const float4 a = acceleration[i];
  float4 v = velocity[i];
  v.x = fmaf(kick, a.x, v.x);
  v.y = fmaf(kick, a.y, v.y);
  v.z = fmaf(kick, a.z, v.z);
  velocity[i] = v;
  if (drift == 0) return;
  float4 body = bodies[i];
  body.x = fmaf(drift, v.x, body.x);
  body.y = fmaf(drift, v.y, body.y);
  body.z = fmaf(drift, v.z, body.z);
  bodies[i] = body;
}

constexpr int kTotalsThreads = 128;  // also the bodies of a tile
constexpr int kRun = 32;             // terms that are added in fp32

// Sum over j != i of mass[j] / sqrt(distance^2 + eps^2). All threads of the block call it.
__device__ double potential_of(const float4& self, std::int64_t i,
                               const float4* __restrict__ bodies, std::int64_t n, float softening2,
                               float4 (&tile)[kTotalsThreads]) {
  double total = 0;
  for (std::int64_t first = 0; first < n; first += kTotalsThreads) {
    const std::int64_t mine = first + threadIdx.x;
    __syncthreads();  // the tile before has been read
    tile[threadIdx.x] = mine < n ? bodies[mine] : make_float4(0, 0, 0, 0);
    __syncthreads();  // this one is written
    for (int run = 0; run < kTotalsThreads; run += kRun) {
      float sum = 0;
#pragma unroll 8
      for (int k = run; k < run + kRun; ++k) {
        const float4 other = tile[k];
        const float dx = other.x - self.x, dy = other.y - self.y, dz = other.z - self.z;
        const float term = other.w * rsqrtf(fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, softening2))));
        sum += first + k == i ? 0.0f : term;
      }
      total += static_cast<double>(sum);
    }
  }
  return total;
}

__global__ void __launch_bounds__(kTotalsThreads)
    totals_partials_kernel(double* __restrict__ partials,  // (gridDim.x, 8)
                           const float4* __restrict__ bodies, const float4* __restrict__ velocity,
                           std::int64_t n, NbodyRange range, NbodyForce force) {
  __shared__ float4 tile[kTotalsThreads];
  __shared__ device::BlockReduceStorage<double, kTotalsThreads> storage;
  const std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * kTotalsThreads + threadIdx.x;
  const std::int64_t i = range.first + k;
  const float4 none = make_float4(0, 0, 0, 0);
  const float4 self = k < range.count ? bodies[i] : none, v = k < range.count ? velocity[k] : none;
  const double pairs = potential_of(self, i, bodies, n, force.softening2, tile);
  const double m = self.w, x = self.x, y = self.y, z = self.z, vx = v.x, vy = v.y, vz = v.z;
  const double terms[kNbodyTotals] = {0.5 * m * (vx * vx + vy * vy + vz * vz),
                                      -0.5 * static_cast<double>(force.gravity) * m * pairs,
                                      m * vx,
                                      m * vy,
                                      m * vz,
                                      m * (y * vz - z * vy),
                                      m * (z * vx - x * vz),
                                      m * (x * vy - y * vx)};
#pragma unroll
  for (int k = 0; k < kNbodyTotals; ++k) {
    const double sum = device::block_reduce<kTotalsThreads>(terms[k], device::Add(), storage);
    if (threadIdx.x == 0) partials[blockIdx.x * kNbodyTotals + k] = sum;
  }
}

__global__ void __launch_bounds__(kThreads)
    totals_kernel(double* __restrict__ totals, const double* __restrict__ partials,
                  std::int64_t count) {
  __shared__ device::BlockReduceStorage<double, kThreads> storage;
  for (int k = 0; k < kNbodyTotals; ++k) {
    double sum = 0;
    for (std::int64_t i = threadIdx.x; i < count; i += kThreads) {
      sum += partials[i * kNbodyTotals + k];
    }
    sum = device::block_reduce<kThreads>(sum, device::Add(), storage);
    if (threadIdx.x == 0) totals[k] = sum;
  }
}

}  // namespace

void nbody_advance(float* bodies, float* velocity, const float* acceleration, std::int64_t n,
                   float kick, float drift, const Stream& stream) {
  launch(advance_kernel, Launch{blocks_for(n, kThreads), kThreads, 0, stream},
         reinterpret_cast<float4*>(bodies), reinterpret_cast<float4*>(velocity),
         reinterpret_cast<const float4*>(acceleration), n, kick, drift);
}

void nbody_totals(double* totals, const float* bodies, const float* velocity, std::int64_t n,
                  const NbodyRange& range, const NbodyForce& force, void* workspace,
                  const Stream& stream) {
  double* partials = static_cast<double*>(workspace);
  const unsigned blocks = blocks_for(range.count, kTotalsThreads);
  launch(totals_partials_kernel, Launch{blocks, kTotalsThreads, 0, stream}, partials,
         reinterpret_cast<const float4*>(bodies), reinterpret_cast<const float4*>(velocity), n,
         range, force);
  launch(totals_kernel, Launch{1, kThreads, 0, stream}, totals, partials, std::int64_t{blocks});
}

std::size_t nbody_totals_bytes(std::int64_t n) {
  return blocks_for(n, kTotalsThreads) * kNbodyTotals * sizeof(double);
}

}  // namespace weft::kernels::cuda

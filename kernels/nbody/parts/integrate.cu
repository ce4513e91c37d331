// SPDX-License-Identifier: MIT
// What moves the bodies, and what tells whether they moved well: the leapfrog's kick and drift,
// whole steps of a few bodies, and energy, momentum and angular momentum.
//
// The totals take two kernels: blocks of 128 bodies write 8 partial sums each, one block adds them
// in order. The potential takes each pair once, as that of a body with one of the n / 2 bodies
// after it on the ring of all bodies. Everything is double, because a small drift of the energy
// would drown in the rounding of fp32.
#include <algorithm>

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

// A quad of fp32 or double, in double.
struct Quad {
  double x, y, z, w;
};

__device__ __forceinline__ Quad load_quad(const float* quads, std::int64_t i) {
  const float4 quad = reinterpret_cast<const float4*>(quads)[i];
  return {quad.x, quad.y, quad.z, quad.w};
}

__device__ __forceinline__ Quad load_quad(const double* quads, std::int64_t i) {
  const double2* halves = reinterpret_cast<const double2*>(quads) + 2 * i;
  const double2 xy = halves[0], zw = halves[1];
  return {xy.x, xy.y, zw.x, zw.y};
}

__device__ __forceinline__ void store_quad(double* quads, std::int64_t i, const Quad& quad) {
  double2* halves = reinterpret_cast<double2*>(quads) + 2 * i;
  halves[0] = make_double2(quad.x, quad.y);
  halves[1] = make_double2(quad.z, quad.w);
}

// to += factor * a, but for the fourth value.
template <class Vector>
__device__ __forceinline__ void add_scaled(Quad& to, double factor, const Vector& a) {
  to.x = fma(factor, static_cast<double>(a.x), to.x);
  to.y = fma(factor, static_cast<double>(a.y), to.y);
  to.z = fma(factor, static_cast<double>(a.z), to.z);
}

__global__ void __launch_bounds__(kThreads)
    advance_wide_kernel(double* __restrict__ position, double* __restrict__ velocity,
                        float4* __restrict__ bodies, const float4* __restrict__ acceleration,
                        std::int64_t n, double kick, double drift) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  Quad v = load_quad(velocity, i);
  add_scaled(v, kick, acceleration[i]);
  store_quad(velocity, i, v);
  if (drift == 0) return;
  Quad body = load_quad(position, i);
  add_scaled(body, drift, v);
  store_quad(position, i, body);
  bodies[i] = make_float4(static_cast<float>(body.x), static_cast<float>(body.y),
                          static_cast<float>(body.z), static_cast<float>(body.w));
}

// One block with a thread for each body. The forces before the first step are computed again, so
// that no acceleration has to be kept between calls.
__global__ void __launch_bounds__(kNbodyFew)
    few_steps_kernel(double* __restrict__ position, double* __restrict__ velocity,
                     std::int64_t steps, double dt, NbodyForceWide force) {
  __shared__ Quad tile[kNbodyFew];
  const int i = static_cast<int>(threadIdx.x), n = static_cast<int>(blockDim.x);
  Quad body = load_quad(position, i), v = load_quad(velocity, i);
  for (std::int64_t step = 0;; ++step) {
    __syncthreads();  // the positions before have been read
    tile[i] = body;
    __syncthreads();  // these are written
    double3 a = {0, 0, 0};
#pragma unroll 4
    for (int j = 0; j < n; ++j) {
      const double dx = tile[j].x - body.x, dy = tile[j].y - body.y, dz = tile[j].z - body.z;
      const double inverse = rsqrt(fma(dx, dx, fma(dy, dy, fma(dz, dz, force.softening2))));
      const double weight = (tile[j].w * inverse) * (inverse * inverse);
      a.x = fma(weight, dx, a.x);
      a.y = fma(weight, dy, a.y);
      a.z = fma(weight, dz, a.z);
    }
    const double kick = 0.5 * dt * force.gravity;
    if (step > 0) add_scaled(v, kick, a);
    if (step == steps) break;
    add_scaled(v, kick, a);
    add_scaled(body, dt, v);
  }
  store_quad(position, i, body);
  store_quad(velocity, i, v);
}

constexpr int kTotalsThreads = 128;  // also the bodies of a tile

// How many pairs count as body i's: those with as many bodies after it on the ring.
__device__ __forceinline__ std::int64_t pairs_of(std::int64_t i, std::int64_t n) {
  return (n - 1) / 2 + (n % 2 == 0 && i < n / 2 ? 1 : 0);
}

// Sum of mass[j] / sqrt(distance^2 + eps^2) over the pairs of body i, which is one of the bodies
// [begin, end) of this block, or none of them. All threads of the block call it.
template <class T>
__device__ double potential_of(const Quad& self, std::int64_t i, std::int64_t begin,
                               std::int64_t end, const T* __restrict__ bodies, std::int64_t n,
                               double softening2, Quad (&tile)[kTotalsThreads]) {
  double total = 0;
  for (std::int64_t first = begin + 1; first < end + n / 2; first += kTotalsThreads) {
    const std::int64_t mine = first + threadIdx.x;
    __syncthreads();  // the tile before has been read
    if (mine < end + n / 2) tile[threadIdx.x] = load_quad(bodies, mine < n ? mine : mine - n);
    __syncthreads();  // this one is written
    const std::int64_t next = i + 1 - first;
    const int low = static_cast<int>(max(next, std::int64_t{0}));
    const int high = static_cast<int>(
        i < end ? min(next + pairs_of(i, n), std::int64_t{kTotalsThreads}) : std::int64_t{0});
#pragma unroll 4
    for (int k = low; k < high; ++k) {
      const double dx = tile[k].x - self.x, dy = tile[k].y - self.y, dz = tile[k].z - self.z;
      total = fma(tile[k].w, rsqrt(fma(dx, dx, fma(dy, dy, fma(dz, dz, softening2)))), total);
    }
  }
  return total;
}

template <class T>
__global__ void __launch_bounds__(kTotalsThreads)
    totals_partials_kernel(double* __restrict__ partials,  // (gridDim.x, 8)
                           const T* __restrict__ bodies, const T* __restrict__ velocity,
                           std::int64_t n, NbodyRange range, NbodyForceWide force) {
  __shared__ Quad tile[kTotalsThreads];
  __shared__ device::BlockReduceStorage<double, kTotalsThreads> storage;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kTotalsThreads;
  const std::int64_t k = first + threadIdx.x, i = range.first + k;
  const std::int64_t begin = range.first + first;
  const std::int64_t end = range.first + min(first + kTotalsThreads, range.count);
  Quad self = {0, 0, 0, 0}, v = {0, 0, 0, 0};
  if (i < end) self = load_quad(bodies, i), v = load_quad(velocity, k);
  const double pairs = potential_of(self, i, begin, end, bodies, n, force.softening2, tile);
  const double m = self.w;
  const double terms[kNbodyTotals] = {0.5 * m * (v.x * v.x + v.y * v.y + v.z * v.z),
                                      -force.gravity * m * pairs,
                                      m * v.x,
                                      m * v.y,
                                      m * v.z,
                                      m * (self.y * v.z - self.z * v.y),
                                      m * (self.z * v.x - self.x * v.z),
                                      m * (self.x * v.y - self.y * v.x)};
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

void nbody_advance_wide(double* position, double* velocity, float* bodies,
                        const float* acceleration, std::int64_t n, double kick, double drift,
                        const Stream& stream) {
  launch(advance_wide_kernel, Launch{blocks_for(n, kThreads), kThreads, 0, stream}, position,
         velocity, reinterpret_cast<float4*>(bodies), reinterpret_cast<const float4*>(acceleration),
         n, kick, drift);
}

void nbody_few_steps(double* position, double* velocity, std::int64_t n, std::int64_t steps,
                     double dt, const NbodyForceWide& force, const Stream& stream) {
  // A launch ends in time for a GPU that also draws a screen.
  constexpr std::int64_t kStepsAtOnce = 100'000;
  for (std::int64_t done = 0; done < steps; done += kStepsAtOnce) {
    launch(few_steps_kernel, Launch{1, static_cast<unsigned>(n), 0, stream}, position, velocity,
           std::min(kStepsAtOnce, steps - done), dt, force);
  }
}

template <class T>
void nbody_totals(double* totals, const T* bodies, const T* velocity, std::int64_t n,
                  const NbodyRange& range, const NbodyForceWide& force, void* workspace,
                  const Stream& stream) {
  double* partials = static_cast<double*>(workspace);
  const unsigned blocks = blocks_for(range.count, kTotalsThreads);
  launch(totals_partials_kernel<T>, Launch{blocks, kTotalsThreads, 0, stream}, partials, bodies,
         velocity, n, range, force);
  launch(totals_kernel, Launch{1, kThreads, 0, stream}, totals, partials, std::int64_t{blocks});
}

template void nbody_totals(double*, const float*, const float*, std::int64_t, const NbodyRange&,
                           const NbodyForceWide&, void*, const Stream&);
template void nbody_totals(double*, const double*, const double*, std::int64_t, const NbodyRange&,
                           const NbodyForceWide&, void*, const Stream&);

std::size_t nbody_totals_bytes(std::int64_t n) {
  return blocks_for(n, kTotalsThreads) * kNbodyTotals * sizeof(double);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// N-body, rung "constant_memory": bodies j are operands that cost no register.
//
// All threads meet the same body j at the same time. "register_tiled" has a copy of it in the
// registers of every lane, and by a model the registers of a warp are what limits it: if their two
// banks give one operand a cycle each, 29 operands of an interaction take longer than its 13.3
// instructions. What comes from constant memory, by an address that is the same for all, lies in
// the uniform registers of the warp instead, which have a port of their own:
//
//   x, y, z, m of body j   2 loads of 8 bytes for 8 interactions, by the uniform unit
//   dx = x[j] - x[i]       reads 1 operand instead of 2; likewise dy, dz and m / r
//                          25 operands, 13.4 instructions for an interaction
//
// The idea did not work out (NOTES.md): such operands turned out to cost as much.
//
// Constant memory holds 4096 bodies. They go through it in slices, copy, kernel, copy, kernel, in
// stream order; each kernel adds its sums to those of the kernels before. Half of the blocks have
// the first half of a slice, so that 256 blocks of 1024 bodies i fill the device twice; the halves
// are two copies of the loop, because the compiler keeps an address that depends on the block in
// ordinary registers. There is one such place on a device: on one stream, or replayed from one
// graph at a time, calls follow each other and are safe; calls on two streams at once would
// overwrite each other's bodies. At most 128 registers, 4 blocks of 128 threads on an SM, no shared
// memory. Register banks: Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via
// Microbenchmarking", 2018.
#include <algorithm>

#include "engine/cuda/cuda_check.h"
#include "engine/device.h"
#include "engine/launch.h"
#include "kernels/nbody/parts/partial_accelerations.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kBlocksPerSm = 4;
constexpr int kHalves = 2, kHalf = 2048;  // bodies j
constexpr std::int64_t kSlice = kHalves * kHalf;

__constant__ float4 constant_bodies[kSlice];

// The pull of `count` bodies j, from kFirst of the slice on.
template <int kFirst, int kBodies>
__device__ __forceinline__ void add_pulls(float3 (&a)[kBodies], const float3 (&position)[kBodies],
                                          int count, float softening2) {
#pragma unroll 4
  for (int k = 0; k < count; ++k) {
    const float4 other = constant_bodies[kFirst + k];
#pragma unroll
    for (int b = 0; b < kBodies; ++b) {
      pull(a[b], other.x - position[b].x, other.y - position[b].y, other.z - position[b].z, other.w,
           softening2);
    }
  }
}

// `count` bodies j are in constant memory; blockIdx.y says which half of them.
template <int kBodies>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    nbody_constant_memory_kernel(float4* __restrict__ partial,       // (kHalves, n)
                                 const float4* __restrict__ bodies,  // (n,)
                                 std::int64_t n, int count, float softening2, bool first) {
  const std::int64_t base = static_cast<std::int64_t>(blockIdx.x) * (kThreads * kBodies);
  float3 position[kBodies], a[kBodies];
#pragma unroll
  for (int b = 0; b < kBodies; ++b) {
    const std::int64_t i = base + b * kThreads + threadIdx.x;
    const float4 body = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
    position[b] = make_float3(body.x, body.y, body.z);
    a[b] = make_float3(0, 0, 0);
  }
  if (blockIdx.y == 0) {
    add_pulls<0>(a, position, min(count, kHalf), softening2);
  } else {
    add_pulls<kHalf>(a, position, count - kHalf, softening2);
  }
  float4* slice = partial + blockIdx.y * n;
#pragma unroll
  for (int b = 0; b < kBodies; ++b) {
    const std::int64_t i = base + b * kThreads + threadIdx.x;
    if (i >= n) continue;
    const float4 before = first ? make_float4(0, 0, 0, 0) : slice[i];
    slice[i] = make_float4(before.x + a[b].x, before.y + a[b].y, before.z + a[b].z, 0);
  }
}

}  // namespace

void nbody_constant_memory(float* acceleration, const float* bodies, std::int64_t n,
                           const NbodyForce& force, void* workspace, const Stream& stream) {
  const auto* quads = reinterpret_cast<const float4*>(bodies);
  auto* partial = static_cast<float4*>(workspace);  // (kHalves, n)
  const Stream::Hold held = stream.hold();  // each slice is read before the next one is copied
  const auto run = [&]<int kBodies>() {
    const dim3 grid(blocks_for(n, kThreads * kBodies), kHalves);
    for (std::int64_t first = 0; first < n; first += kSlice) {
      const std::int64_t count = std::min(n - first, kSlice);
      cuda_check(cudaMemcpyToSymbolAsync(constant_bodies, quads + first,
                                         static_cast<std::size_t>(count) * sizeof(float4), 0,
                                         cudaMemcpyDeviceToDevice, stream.native()),
                 "copy of bodies to constant memory");
      launch(nbody_constant_memory_kernel<kBodies>, {grid, dim3(kThreads), 0, stream}, partial,
             quads, n, static_cast<int>(count), force.softening2, first == 0);
    }
  };
  // As many bodies for a thread as leave every SM something to do.
  const std::int64_t threads =
      std::int64_t{kThreads} * device_properties(stream.device()).multiprocessors * kBlocksPerSm;
  const std::int64_t most = kHalves * n / threads;
  if (most >= 7) {
    run.template operator()<8>();
  } else if (most >= 4) {
    run.template operator()<4>();
  } else if (most >= 2) {
    run.template operator()<2>();
  } else {
    run.template operator()<1>();
  }
  sum_partial_accelerations(reinterpret_cast<float4*>(acceleration), partial, n, n, kHalves,
                            force.gravity, stream);
}

}  // namespace weft::kernels::cuda

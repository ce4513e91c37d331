// SPDX-License-Identifier: MIT
// N-body, rung "register_tiled": a thread owns several bodies.
//
//              tile of 128 bodies j in shared memory
//              +---------------------------------+
//   thread     |  one 16-byte load of body j ... |      kBodies = 8: 8 bodies x (3 coordinates +
//   8 bodies i |  ... feeds 8 interactions       |      3 sums) in registers
//              +---------------------------------+
//
// An interaction is 12 instructions on floats and a root; with a load for every eighth, that makes
// 13.1 issue slots, and 4 schedulers on 132 SMs at 1.98 GHz have 1.045e12 a second for warps of 32:
// at most 2549e9 interactions, 51 TFLOP/s by the 20-operation convention.
//
// In a tile quads are stored in another order, for the banks of registers: see exchanged().
//
// A block of 128 threads covers 1024 bodies i. Few bodies would leave SMs idle, so the bodies j are
// split over blockIdx.y and each split writes a slice of partial accelerations, which a second
// kernel adds in order; below that, threads own 4, 2 or 1 bodies. Two stages of tiles: the next one
// is loaded while this one is used, with one barrier for each tile. 4 KiB of shared memory, at most
// 128 registers, so that 4 blocks share an SM.
#include <algorithm>

#include "engine/device.h"
#include "engine/launch.h"
#include "kernels/nbody/parts/partial_accelerations.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kThreads = 128;  // also the bodies of a tile
constexpr int kBlocksPerSm = 4;
constexpr int kMaxSplits = 48;

template <int kBodies>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    nbody_register_tiled_kernel(float4* __restrict__ acceleration,  // (gridDim.y, n)
                                const float4* __restrict__ bodies,  // (n,)
                                std::int64_t n, std::int64_t split_tiles,
                                unsigned longer_splits,  // these have a tile more
                                float softening2, float gravity) {
  __shared__ float4 tile[2][kThreads];
  const float4 none = make_float4(0, 0, 0, 0);
  const std::int64_t base = static_cast<std::int64_t>(blockIdx.x) * (kThreads * kBodies);
  float3 position[kBodies], a[kBodies];
#pragma unroll
  for (int b = 0; b < kBodies; ++b) {
    const std::int64_t i = base + b * kThreads + threadIdx.x;
    const float4 body = i < n ? bodies[i] : none;
    position[b] = make_float3(body.x, body.y, body.z);
    a[b] = make_float3(0, 0, 0);
  }

  const auto split_begin = [&](unsigned split) {
    return (split * split_tiles + min(split, longer_splits)) * kThreads;
  };
  const std::int64_t begin = split_begin(blockIdx.y);
  const std::int64_t end = min(split_begin(blockIdx.y + 1), n);
  std::int64_t j = begin + threadIdx.x;
  tile[0][threadIdx.x] = exchanged(j < end ? bodies[j] : none);  // past the end: without mass
  __syncthreads();
  int stage = 0;
  for (std::int64_t first = begin; first < end; first += kThreads) {
    j += kThreads;
    const float4 next = j < end ? bodies[j] : none;
#pragma unroll 4
    for (int k = 0; k < kThreads; ++k) {
      const float4 other = exchanged(tile[stage][k]);
#pragma unroll
      for (int b = 0; b < kBodies; ++b) {
        pull(a[b], other.x - position[b].x, other.y - position[b].y, other.z - position[b].z,
             other.w, softening2);
      }
    }
    stage ^= 1;
    tile[stage][threadIdx.x] = exchanged(next);
    __syncthreads();  // the next stage is written, and this one free
  }

  float4* slice = acceleration + blockIdx.y * n;
#pragma unroll
  for (int b = 0; b < kBodies; ++b) {
    const std::int64_t i = base + b * kThreads + threadIdx.x;
    if (i < n) slice[i] = finished(a[b], gravity);
  }
}

// How the work on n bodies is cut into blocks.
struct Plan {
  int bodies;  // of a thread
  unsigned blocks;
  unsigned splits;
};

Plan make_plan(std::int64_t n, int multiprocessors) {
  const std::int64_t tiles = divide_up(n, kThreads);
  const std::int64_t slots = std::int64_t{kBlocksPerSm} * multiprocessors;
  Plan plan{};
  for (plan.bodies = 8; plan.bodies > 1; plan.bodies /= 2) {  // every SM gets work
    const std::int64_t blocks = divide_up(tiles, plan.bodies);
    if (blocks * std::min<std::int64_t>(tiles, kMaxSplits) >= slots) break;
  }
  plan.blocks = blocks_for(tiles, plan.bodies);
  // The fewest waves of blocks times tiles in a block; a tenth of a tile is the cost of starting
  // one, and where splits differ by a tile, somebody has it last. On 132 SMs, 33 splits give full
  // waves where powers of two leave 3 % idle.
  double best = 0;
  for (int splits = 1; splits <= std::min<std::int64_t>(tiles, kMaxSplits); ++splits) {
    const std::int64_t waves = divide_up(std::int64_t{plan.blocks} * splits, slots);
    const double share = static_cast<double>(tiles) / splits;
    const double cost = static_cast<double>(waves) * (share + 0.1) + (tiles % splits == 0 ? 0 : 1);
    if (splits == 1 || cost < 0.995 * best) {
      best = cost;
      plan.splits = static_cast<unsigned>(splits);
    }
  }
  return plan;
}

Plan make_plan(std::int64_t n, Device device) {
  return make_plan(n, device_properties(device).multiprocessors);
}

}  // namespace

std::size_t nbody_workspace_register_tiled(std::int64_t n, Device device) {
  const Plan plan = make_plan(n, device);
  return plan.splits == 1 ? 0 : plan.splits * static_cast<std::size_t>(n) * sizeof(float4);
}

void nbody_register_tiled(float* acceleration, const float* bodies, std::int64_t n,
                          const NbodyForce& force, void* workspace, const Stream& stream) {
  const Plan plan = make_plan(n, stream.device());
  const std::int64_t tiles = divide_up(n, kThreads);
  const bool direct = plan.splits == 1;
  float4* result = reinterpret_cast<float4*>(acceleration);
  float4* out = direct ? result : static_cast<float4*>(workspace);
  const Launch config{dim3(plan.blocks, plan.splits), kThreads, 0, stream};
  const auto run = [&](auto* kernel) {
    launch(kernel, config, out, reinterpret_cast<const float4*>(bodies), n, tiles / plan.splits,
           static_cast<unsigned>(tiles % plan.splits), force.softening2,
           direct ? force.gravity : 1.0f);
  };
  if (plan.bodies == 8) {
    run(nbody_register_tiled_kernel<8>);
  } else if (plan.bodies == 4) {
    run(nbody_register_tiled_kernel<4>);
  } else if (plan.bodies == 2) {
    run(nbody_register_tiled_kernel<2>);
  } else {
    run(nbody_register_tiled_kernel<1>);
  }
  if (!direct) {
    sum_partial_accelerations(result, out, n, n, static_cast<int>(plan.splits), force.gravity,
                              stream);
  }
}

}  // namespace weft::kernels::cuda

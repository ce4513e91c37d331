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
    nbody_register_tiled_kernel(float4* __restrict__ acceleration,   // (gridDim.y, count)
                                const float4* __restrict__ targets,  // (count,)
                                std::int64_t count,
                                const float4* __restrict__ bodies,  // (n,)
                                std::int64_t n, NbodyRange sources, std::int64_t split_tiles,
                                unsigned longer_splits,  // these have a tile more
                                float softening2, float gravity, bool add) {
  __shared__ float4 tile[2][kThreads];
  const float4 none = make_float4(0, 0, 0, 0);
  const std::int64_t base = static_cast<std::int64_t>(blockIdx.x) * (kThreads * kBodies);
  float3 position[kBodies], a[kBodies];
#pragma unroll
  for (int b = 0; b < kBodies; ++b) {
    const std::int64_t i = base + b * kThreads + threadIdx.x;
    const float4 body = i < count ? targets[i] : none;
    position[b] = make_float3(body.x, body.y, body.z);
    a[b] = make_float3(0, 0, 0);
  }

  const auto split_begin = [&](unsigned split) {
    return (split * split_tiles + min(split, longer_splits)) * kThreads;
  };
  const std::int64_t begin = split_begin(blockIdx.y);
  const std::int64_t end = min(split_begin(blockIdx.y + 1), sources.count);
  const auto source = [&](std::int64_t k) {
    const std::int64_t j = sources.first + k;
    return k < end ? bodies[j < n ? j : j - n] : none;  // past the end: without mass
  };
  std::int64_t j = begin + threadIdx.x;
  tile[0][threadIdx.x] = exchanged(source(j));
  __syncthreads();
  int stage = 0;
  for (std::int64_t first = begin; first < end; first += kThreads) {
    j += kThreads;
    const float4 next = source(j);
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

  float4* slice = acceleration + blockIdx.y * count;
#pragma unroll
  for (int b = 0; b < kBodies; ++b) {
    const std::int64_t i = base + b * kThreads + threadIdx.x;
    if (i < count) store(slice[i], finished(a[b], gravity), add);
  }
}

// How the work is cut into blocks.
struct Plan {
  int bodies;  // of a thread
  unsigned blocks;
  unsigned splits;
};

Plan make_plan(std::int64_t targets, std::int64_t sources, std::int64_t most_splits,
               Device device) {
  const std::int64_t rows = divide_up(targets, kThreads), tiles = divide_up(sources, kThreads);
  const std::int64_t slots = std::int64_t{kBlocksPerSm} * device_properties(device).multiprocessors;
  Plan plan{};
  for (plan.bodies = 8; plan.bodies > 1; plan.bodies /= 2) {  // every SM gets work
    const std::int64_t blocks = divide_up(rows, plan.bodies);
    if (blocks * std::min<std::int64_t>(tiles, kMaxSplits) >= slots) break;
  }
  plan.blocks = blocks_for(rows, plan.bodies);
  // The fewest waves of blocks times tiles in a block; a tenth of a tile is the cost of starting
  // one, and where splits differ by a tile, somebody has it last. On 132 SMs, 33 splits give full
  // waves where powers of two leave 3 % idle.
  double best = 0;
  for (int splits = 1; splits <= std::min(tiles, most_splits); ++splits) {
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

// The splits that the workspace has room for: those of the whole, or as many as a part may take.
std::int64_t splits_of(const NbodyProblem& problem, Device device) {
  return problem.ranks > 1 ? kMaxSplits
                           : make_plan(problem.n, problem.n, kMaxSplits, device).splits;
}

}  // namespace

std::size_t nbody_workspace_register_tiled(const NbodyProblem& problem, Device device) {
  const std::int64_t splits = std::min(splits_of(problem, device), divide_up(problem.n, kThreads));
  const std::int64_t targets = divide_up(problem.n, problem.ranks);
  return splits == 1 ? 0 : static_cast<std::size_t>(splits * targets) * sizeof(float4);
}

void nbody_part_register_tiled(float* acceleration, const float* bodies,
                               const NbodyProblem& problem, const NbodyPart& part,
                               const NbodyForce& force, void* workspace, const Stream& stream) {
  const std::int64_t count = part.targets.count;
  const Plan plan =
      make_plan(count, part.sources.count, splits_of(problem, stream.device()), stream.device());
  const std::int64_t tiles = divide_up(part.sources.count, kThreads);
  const bool direct = plan.splits == 1, add = part.mode == GradientMode::accumulate;
  float4* result = reinterpret_cast<float4*>(acceleration);
  float4* out = direct ? result : static_cast<float4*>(workspace);
  const float4* quads = reinterpret_cast<const float4*>(bodies);
  const Launch config{dim3(plan.blocks, plan.splits), kThreads, 0, stream};
  const auto run = [&](auto* kernel) {
    launch(kernel, config, out, quads + part.targets.first, count, quads, problem.n, part.sources,
           tiles / plan.splits, static_cast<unsigned>(tiles % plan.splits), force.softening2,
           direct ? force.gravity : 1.0f, direct && add);
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
    sum_partial_accelerations(result, out, count, count, static_cast<int>(plan.splits),
                              force.gravity, stream, add);
  }
}

void nbody_register_tiled(float* acceleration, const float* bodies, std::int64_t n,
                          const NbodyForce& force, void* workspace, const Stream& stream) {
  nbody_part_register_tiled(acceleration, bodies, {n}, {{0, n}, {0, n}}, force, workspace, stream);
}

}  // namespace weft::kernels::cuda

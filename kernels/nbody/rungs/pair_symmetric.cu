// SPDX-License-Identifier: MIT
// N-body, rung "pair_symmetric": each pair is computed once and moves both of its bodies.
//
// Bodies are cut into tiles of kTile = 128 kBodies. A block takes a pair of tiles (I, J):
//
//   bodies i of tile I     in registers: kBodies in each thread, with their sums
//   bodies j of tile J     in chunks of 32, one to a lane. In step s, lane l meets body (l + s) of
//                          the chunk: its quad is read from shared memory, its sum comes from the
//                          neighbouring lane by a shuffle, so that after 32 steps every lane has
//                          its own body's sum again
//
// The four warps work on different chunks and change places at barriers, where each adds its sums
// of j to those in shared memory: first chunk c takes part of warp w, then w - 1, ... in an order
// that is always the same.
//
// A pair costs 16 instructions on floats and a root, 3 shuffles and a load for every kBodies pairs:
// with 8 bodies 17.5 issue slots, 8.75 for an interaction; 13.1 without the symmetry.
//
// Who may write where: tile I meets the tiles I + 1, ..., I + B / 2 of the ring of B tiles. In
// round r, block I works on the tiles (I, I + r), so that every tile is the J of one block only. A
// launch runs several rounds at once; each has a slice of its own for the sums of j, and each block
// that shares a tile I with others has one for the sums of i. The next launch adds to the slices,
// which a last kernel adds in order: no atomics, the same bits every time. Round 0, a tile with
// itself, is computed in the direct form.
//
// Ranks that share the work have some of the tiles I each. They must agree on the tiles, whatever
// their devices are, and each has the sums of all bodies, to which the others' are to be added.
#include <algorithm>

#include "engine/device.h"
#include "engine/launch.h"
#include "engine/stream.h"
#include "kernels/device/warp.cuh"
#include "kernels/nbody/parts/partial_accelerations.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;
constexpr int kBlocksPerSm = 4;

// What fits a launch: `splits` blocks for each tile, each of them `rounds` rounds one after the
// other. Slices [0, splits) are sums of i, then come those of j.
struct Rounds {
  std::int64_t tiles;
  unsigned first_tile;  // of the tiles I of this rank
  unsigned end_tile;    // one past the last of them
  std::int64_t first;   // round
  std::int64_t end;     // one past the last round
  int rounds;
};

template <int kBodies>
struct Bodies {
  float4 body[kBodies];
  float3 a[kBodies];
};

// The pairs of this warp's bodies i with a chunk of 32 bodies j. `chunk` holds their exchanged()
// quads twice, so that lane + step needs no wrapping. Returns the pull on body `lane` of the chunk,
// by Newton's third law, or nothing useful when not kSymmetric.
template <int kBodies, bool kSymmetric>
__device__ __forceinline__ float3 meet_chunk(Bodies<kBodies>& own, const float4* chunk, int lane,
                                             float softening2) {
  float3 reaction = {0, 0, 0};
#pragma unroll 2
  for (int step = 0; step < 32; ++step) {
    const float4 other = exchanged(chunk[lane + step]);
#pragma unroll
    for (int b = 0; b < kBodies; ++b) {
      const float4 self = own.body[b];
      const float dx = other.x - self.x, dy = other.y - self.y, dz = other.z - self.z;
      if constexpr (!kSymmetric) {
        pull(own.a[b], dx, dy, dz, other.w, softening2);
      } else {
        const float r2 = fmaf(dz, dz, fmaf(dy, dy, fmaf(dx, dx, softening2)));
        const float inverse = device::reciprocal_sqrt(r2);  // r2 >= eps^2 >= 1e-24 is normal
        const float cube = inverse * inverse * inverse;
        const float on_self = other.w * cube, on_other = self.w * cube;
        own.a[b].x = fmaf(on_self, dx, own.a[b].x);
        own.a[b].y = fmaf(on_self, dy, own.a[b].y);
        own.a[b].z = fmaf(on_self, dz, own.a[b].z);
        reaction.x = fmaf(-on_other, dx, reaction.x);
        reaction.y = fmaf(-on_other, dy, reaction.y);
        reaction.z = fmaf(-on_other, dz, reaction.z);
      }
    }
    if constexpr (kSymmetric) {  // body lane + step + 1 was with the next lane
      const int next = (lane + 1) % 32;
      reaction.x = __shfl_sync(device::kFullWarp, reaction.x, next);
      reaction.y = __shfl_sync(device::kFullWarp, reaction.y, next);
      reaction.z = __shfl_sync(device::kFullWarp, reaction.z, next);
    }
  }
  return reaction;
}

// All chunks of the tile that starts at `first`, with the sums of j added to `sums` (slice of j).
template <int kBodies, bool kSymmetric>
__device__ __forceinline__ void meet_tile(Bodies<kBodies>& own, float4 (&chunks)[kWarps][64],
                                          float3* shared_sums, float4* __restrict__ sums,
                                          const float4* __restrict__ bodies, std::int64_t first,
                                          std::int64_t n, float softening2) {
  constexpr int kTile = kThreads * kBodies;
  constexpr int kChunks = kTile / 32;  // a multiple of kWarps
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  if constexpr (kSymmetric) {
    for (int k = static_cast<int>(threadIdx.x); k < kTile; k += kThreads) {
      shared_sums[k] = make_float3(0, 0, 0);
    }
    __syncthreads();  // the sums are zero before any warp adds to them
  }
  const float4 none = make_float4(0, 0, 0, 0);
  const auto load = [&](int phase) {
    const int c = (phase + warp * (kChunks / kWarps)) % kChunks;
    const std::int64_t j = first + c * 32 + lane;
    return j < n ? bodies[j] : none;
  };
  float4 next = load(0);
  for (int phase = 0; phase < kChunks; ++phase) {
    __syncwarp();  // the warp has read its last chunk
    chunks[warp][lane] = exchanged(next);
    chunks[warp][lane + 32] = exchanged(next);
    __syncwarp();  // the chunk is there for all lanes
    next = load(phase + 1 < kChunks ? phase + 1 : phase);
    const float3 reaction = meet_chunk<kBodies, kSymmetric>(own, chunks[warp], lane, softening2);
    if constexpr (kSymmetric) {
      float3& sum = shared_sums[(phase + warp * (kChunks / kWarps)) % kChunks * 32 + lane];
      sum = make_float3(sum.x + reaction.x, sum.y + reaction.y, sum.z + reaction.z);
      if (phase % (kChunks / kWarps) == kChunks / kWarps - 1) {
        __syncthreads();  // warps move on to the chunks that another has left
      }
    }
  }
  if constexpr (kSymmetric) {
    for (int k = static_cast<int>(threadIdx.x); k < kTile; k += kThreads) {
      const float3 sum = shared_sums[k];
      float4& total = sums[first + k];
      const float4 before = total;
      total = make_float4(before.x + sum.x, before.y + sum.y, before.z + sum.z, 0.0f);
    }
    __syncthreads();  // the sums are read before the next tile clears them
  }
}

template <int kBodies>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    nbody_pair_symmetric_kernel(float4* __restrict__ slices,        // (slices, tiles * kTile)
                                const float4* __restrict__ bodies,  // (n,)
                                std::int64_t n, Rounds plan, float softening2) {
  constexpr int kTile = kThreads * kBodies;
  __shared__ float4 chunks[kWarps][64];
  __shared__ float3 shared_sums[kTile];
  // The grid has a column for every tile. With first_tile + blockIdx.x in its place the loop over
  // pairs is scheduled otherwise, and takes 3 % longer on an H200.
  if (blockIdx.x < plan.first_tile || blockIdx.x >= plan.end_tile) return;
  const std::int64_t tile = blockIdx.x, padded = plan.tiles * kTile;
  Bodies<kBodies> own;
#pragma unroll
  for (int b = 0; b < kBodies; ++b) {
    const std::int64_t i = tile * kTile + b * kThreads + threadIdx.x;
    own.body[b] = i < n ? bodies[i] : make_float4(0, 0, 0, 0);  // no mass past the end
    own.a[b] = make_float3(0, 0, 0);
  }
  for (int k = 0; k < plan.rounds; ++k) {
    const int slice = static_cast<int>(blockIdx.y) * plan.rounds + k;
    const std::int64_t round = plan.first + slice;
    if (round >= plan.end) break;
    float4* sums = slices + (gridDim.y + slice) * padded;
    if (round == 0) {
      meet_tile<kBodies, false>(own, chunks, shared_sums, sums, bodies, tile * kTile, n,
                                softening2);
    } else if (2 * round < plan.tiles || tile < round) {  // opposite tiles meet once
      const std::int64_t other = (tile + round) % plan.tiles;
      meet_tile<kBodies, true>(own, chunks, shared_sums, sums, bodies, other * kTile, n,
                               softening2);
    }
  }
#pragma unroll
  for (int b = 0; b < kBodies; ++b) {
    float4& total = slices[blockIdx.y * padded + tile * kTile + b * kThreads + threadIdx.x];
    const float4 before = total;
    total = make_float4(before.x + own.a[b].x, before.y + own.a[b].y, before.z + own.a[b].z, 0.0f);
  }
}

// Blocks on the SMs of an H100 or H200. Ranks cut the bodies into tiles as if theirs had as many.
constexpr std::int64_t kNominalSlots = kBlocksPerSm * 132;

// How n bodies are cut into tiles, and how many rounds a launch runs.
struct Plan {
  int bodies;  // of a thread
  std::int64_t tiles;
  std::int64_t own;  // the most tiles I of a rank
  int splits;        // blocks for each tile I
  int rounds;        // of each block

  std::int64_t padded() const { return tiles * kThreads * bodies; }
  int slices() const { return splits + splits * rounds; }
};

Plan make_plan(const NbodyProblem& problem, Device device) {
  const std::int64_t slots = std::int64_t{kBlocksPerSm} * device_properties(device).multiprocessors;
  const std::int64_t all_slots = problem.ranks > 1 ? problem.ranks * kNominalSlots : slots;
  Plan plan{};
  for (plan.bodies = 8; plan.bodies > 2; plan.bodies /= 2) {  // enough pairs of tiles for all SMs
    const std::int64_t tiles = blocks_for(problem.n, kThreads * plan.bodies);
    if (tiles * (tiles / 2 + 1) >= 4 * all_slots) break;
  }
  plan.tiles = blocks_for(problem.n, kThreads * plan.bodies);
  plan.own = divide_up(plan.tiles, problem.ranks);
  const std::int64_t rounds = plan.tiles / 2 + 1;
  // Blocks that fill the SMs in whole waves, up to 8 of them.
  double best = 0;
  for (int splits = 1; splits <= 16 && splits <= rounds; ++splits) {
    const std::int64_t waves = divide_up(plan.own * splits, slots);
    const double used = static_cast<double>(plan.own * splits) / static_cast<double>(waves * slots);
    if (used > 1.01 * best) best = used, plan.splits = splits;
  }
  plan.rounds = static_cast<int>(
      std::min<std::int64_t>(std::max(1, 16 / plan.splits), (rounds - 1) / plan.splits + 1));
  return plan;
}

template <int kBodies>
void run(const Plan& plan, const NbodyProblem& problem, int rank, float4* slices,
         const float4* bodies, float softening2, const Stream& stream) {
  const std::int64_t end = plan.tiles / 2 + 1;
  const std::int64_t step = std::int64_t{plan.splits} * plan.rounds;
  const auto first_tile = static_cast<unsigned>(plan.tiles * rank / problem.ranks);
  const auto end_tile = static_cast<unsigned>(plan.tiles * (rank + 1) / problem.ranks);
  for (std::int64_t first = 0; first < end; first += step) {
    const Launch config{dim3(static_cast<unsigned>(plan.tiles), static_cast<unsigned>(plan.splits)),
                        kThreads, 0, stream};
    launch(nbody_pair_symmetric_kernel<kBodies>, config, slices, bodies, problem.n,
           Rounds{plan.tiles, first_tile, end_tile, first, end, plan.rounds}, softening2);
  }
}

}  // namespace

std::size_t nbody_workspace_pair_symmetric(const NbodyProblem& problem, Device device) {
  const Plan plan = make_plan(problem, device);
  return static_cast<std::size_t>(plan.slices()) * static_cast<std::size_t>(plan.padded()) *
         sizeof(float4);
}

void nbody_pairs_pair_symmetric(float* acceleration, const float* bodies,
                                const NbodyProblem& problem, int rank, const NbodyForce& force,
                                void* workspace, const Stream& stream) {
  const Plan plan = make_plan(problem, stream.device());
  float4* slices = static_cast<float4*>(workspace);
  const float4* quads = reinterpret_cast<const float4*>(bodies);
  zero_bytes(slices, nbody_workspace_pair_symmetric(problem, stream.device()), stream);
  if (plan.bodies == 8) {
    run<8>(plan, problem, rank, slices, quads, force.softening2, stream);
  } else if (plan.bodies == 4) {
    run<4>(plan, problem, rank, slices, quads, force.softening2, stream);
  } else {
    run<2>(plan, problem, rank, slices, quads, force.softening2, stream);
  }
  sum_partial_accelerations(reinterpret_cast<float4*>(acceleration), slices, problem.n,
                            plan.padded(), plan.slices(), force.gravity, stream);
}

void nbody_pair_symmetric(float* acceleration, const float* bodies, std::int64_t n,
                          const NbodyForce& force, void* workspace, const Stream& stream) {
  nbody_pairs_pair_symmetric(acceleration, bodies, {n}, 0, force, workspace, stream);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// What the kernels of all rungs begin and end with: which rank a block works for, and the number of
// the call.
#pragma once

#include <algorithm>

#include "engine/launch.h"
#include "kernels/all_reduce/launchers.h"
#include "kernels/all_reduce/parts/peer_memory.h"

namespace weft::kernels::peers {

constexpr int kThreads = 256;

// Chosen and not indexed: a kernel's argument that is indexed is copied to local memory.
template <class T>
__device__ __forceinline__ T* chosen(T* const (&pointers)[kMaxPeers], int which) {
  T* pointer = pointers[0];
#pragma unroll
  for (int i = 1; i < kMaxPeers; ++i) {
    if (which == i) pointer = pointers[i];
  }
  return pointer;
}

struct Rank {
  int rank, block;
  float* values;
  void* memory;
  Word call;
};

// blockIdx.y counts the ranks of the launch.
__device__ __forceinline__ Rank rank_of(const cuda::RanksHere& ranks) {
  const int here = static_cast<int>(blockIdx.y), rank = ranks.group.rank + here;
  void* const memory = chosen(ranks.group.memory, rank);
  return {rank, static_cast<int>(blockIdx.x), chosen(ranks.values, here), memory,
          calls_in(memory)[blockIdx.x] + 1};
}

// When all threads of the block have read the number. A block also counts for blocks that this grid
// does not have, so that all of them are at the same call, and no block waits for another.
__device__ __forceinline__ void count_call(const Rank& me) {
  const int blocks = static_cast<int>(gridDim.x);
  for (int block = me.block + static_cast<int>(threadIdx.x) * blocks; block < kAllReduceBlocks;
       block += kThreads * blocks) {
    calls_in(me.memory)[block] = me.call;
  }
}

// A block for so many floats of a rank. Several ranks in one launch have to run at once, so they
// share the blocks that the device holds.
template <class Kernel>
void launch_ranks(Kernel kernel, std::int64_t floats, const cuda::RanksHere& ranks,
                  const Stream& stream) {
  std::int64_t limit = kAllReduceBlocks;
  if (ranks.count > 1) {
    const std::int64_t share = resident_blocks(kernel, kThreads, 0, stream) / ranks.count;
    limit = std::clamp<std::int64_t>(share, 1, limit);
  }
  const Launch config{dim3(blocks_for(ranks.n, floats, limit), static_cast<unsigned>(ranks.count)),
                      kThreads, 0, stream};
  launch(kernel, ranks.count > 1 ? config.cooperative() : config, ranks);
}

}  // namespace weft::kernels::peers

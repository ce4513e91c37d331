// SPDX-License-Identifier: MIT
// One-shot all-reduce that pulls: a rank copies its values into its own slot, tells its peers,
// waits until they have told it, and reads all slots in the order of the ranks.
//
// Blocks meet block by block: block b of a rank reads from its peers what their blocks b have
// written, so nothing in a rank waits for all of its blocks. A thread for each peer raises this
// block's flag there (st.release.sys) and looks at the peer's flag here (ld.acquire.sys); barriers
// of the block before and after make its order that of the block. The way is: write, flag over the
// link, read over the link and back.
//
// A block has 256 threads of 16 bytes, 4 KB; from 64 blocks on it loops. 247 KB are 61 blocks, and
// every load of a thread is in flight at once.
#include "engine/launch.h"
#include "kernels/all_reduce/parts/rank.cuh"
#include "kernels/device/system_scope.cuh"
#include "kernels/device/vector.cuh"

namespace weft::kernels::cuda {
namespace {

using namespace peers;

// Block b of all ranks. What the block has written before is visible to its peers behind it.
__device__ __forceinline__ void meet(const PeerGroup& group, const Rank& me) {
  __syncthreads();  // the block's part of the slot is written
  const int peer = static_cast<int>(threadIdx.x);
  if (peer < group.size && peer != me.rank) {
    device::store_release(flag_in(chosen(group.memory, peer), me.block, me.rank), me.call);
    const Word* flag = flag_in(me.memory, me.block, peer);
    while (device::load_acquire(flag) < me.call) continue;
  }
  __syncthreads();  // the peers' parts may be read
}

__global__ void __launch_bounds__(kThreads) all_reduce_one_shot_kernel(RanksHere ranks) {
  const Rank me = rank_of(ranks);
  const PeerGroup& group = ranks.group;
  const std::int64_t begin = 4 * device::global_thread(), stride = 4 * device::grid_threads();
  float* const slot = slot_in(me.memory, group.capacity, me.call);
  for (std::int64_t i = begin; i < ranks.n; i += stride) {
    *reinterpret_cast<device::Float4*>(slot + i) = device::load4(me.values, i, ranks.n);
  }
  meet(group, me);
  for (std::int64_t i = begin; i < ranks.n; i += stride) {
    device::Float4 part[kMaxPeers];
#pragma unroll
    for (int r = 0; r < kMaxPeers; ++r) {
      if (r >= group.size) continue;
      const float* from = slot_in(group.memory[r], group.capacity, me.call);
      part[r] = *reinterpret_cast<const device::Float4*>(from + i);
    }
    device::Float4 sum = part[0];
#pragma unroll
    for (int r = 1; r < kMaxPeers; ++r) {
      if (r >= group.size) continue;
#pragma unroll
      for (int k = 0; k < 4; ++k) sum.lane[k] += part[r].lane[k];
    }
    device::store4(me.values, i, ranks.n, sum);
  }
  count_call(me);
}

}  // namespace

void all_reduce_one_shot(const RanksHere& ranks, const Stream& stream) {
  launch_ranks(all_reduce_one_shot_kernel, 4 * kThreads, ranks, stream);
}

}  // namespace weft::kernels::cuda

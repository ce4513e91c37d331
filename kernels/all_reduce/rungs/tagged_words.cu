// SPDX-License-Identifier: MIT
// One-shot all-reduce that pushes: a rank stores its values into the memory of its peers, each as a
// word of 8 bytes with the number of the call, and polls its own memory for theirs.
//
// The link is crossed once. There is no flag to wait for, no fence and no read over the link, for
// twice the bytes. Technique: the LL protocol of NCCL. A word of another call has another tag, of
// 32 bits: one that was left behind 2^32 calls ago would be taken for new.
//
// A thread sends two values, 16 bytes, to each peer, and goes on to its next ones before it looks
// for what has come. A block has 256 threads, 512 floats; from 64 blocks on it loops.
#include "engine/launch.h"
#include "kernels/all_reduce/parts/rank.cuh"
#include "kernels/device/system_scope.cuh"
#include "kernels/device/vector.cuh"

namespace weft::kernels::cuda {
namespace {

using namespace peers;

__global__ void __launch_bounds__(kThreads) all_reduce_tagged_words_kernel(RanksHere ranks) {
  const Rank me = rank_of(ranks);
  const PeerGroup& group = ranks.group;
  const std::uint32_t tag = static_cast<std::uint32_t>(me.call);
  const std::int64_t begin = 2 * device::global_thread(), stride = 2 * device::grid_threads();
  const auto own = [&](std::int64_t i) { return i < ranks.n ? me.values[i] : 0.0f; };
  for (std::int64_t i = begin; i < ranks.n; i += stride) {
    const device::WordPair pair{{device::tagged(own(i), tag), device::tagged(own(i + 1), tag)}};
#pragma unroll
    for (int r = 0; r < kMaxPeers; ++r) {
      if (r >= group.size || r == me.rank) continue;
      device::store_pair(words_in(group.memory[r], group.capacity, me.call, me.rank) + i, pair);
    }
  }
  for (std::int64_t i = begin; i < ranks.n; i += stride) {
    device::WordPair part[kMaxPeers];
    bool all = false;
    while (!all) {  // those of all peers are in flight at once
#pragma unroll
      for (int r = 0; r < kMaxPeers; ++r) {
        if (r >= group.size || r == me.rank) continue;
        part[r] = device::load_pair(words_in(me.memory, group.capacity, me.call, r) + i);
      }
      all = true;
#pragma unroll
      for (int r = 0; r < kMaxPeers; ++r) {
        if (r >= group.size || r == me.rank) continue;
        all =
            all && device::tag_of(part[r].word[0]) == tag && device::tag_of(part[r].word[1]) == tag;
      }
    }
    const float mine[2] = {own(i), own(i + 1)};
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      float sum = me.rank == 0 ? mine[k] : device::value_of(part[0].word[k]);
#pragma unroll
      for (int r = 1; r < kMaxPeers; ++r) {
        if (r >= group.size) continue;
        sum += r == me.rank ? mine[k] : device::value_of(part[r].word[k]);
      }
      if (i + k < ranks.n) me.values[i + k] = sum;
    }
  }
  __syncthreads();  // all threads have read the number of the call
  count_call(me);
}

}  // namespace

void all_reduce_tagged_words(const RanksHere& ranks, const Stream& stream) {
  launch_ranks(all_reduce_tagged_words_kernel, 2 * kThreads, ranks, stream);
}

}  // namespace weft::kernels::cuda

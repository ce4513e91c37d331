// SPDX-License-Identifier: MIT
// __activemask() and coalesced_threads() in branches: the lanes that come to the same place together.
// prints: all 32 lanes, then lanes 55555555 and aaaaaaaa, then 10 lanes sum 45, and lane 31 alone
// prints: 3 atomics counted 43, behind a loop 32 lanes, beside a barrier 1
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
namespace cg = cooperative_groups;

struct Seen {
  unsigned all, even, odd, few, sum, alone, counted, atomics, behind, beside;
};

// One atomic for all the lanes that are here.
__device__ void count(Seen* seen) {
  cg::coalesced_group group = cg::coalesced_threads();
  if (group.thread_rank() == 0) {
    atomicAdd(&seen->counted, group.size());
    atomicAdd(&seen->atomics, 1u);
  }
  group.sync();
}

__global__ void look(Seen* seen) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned all = __activemask();
  if (lane == 0) seen->all = all;
  if (lane % 2 == 0) {
    const unsigned even = __activemask();
    if (lane == 0) seen->even = even;
  } else {
    const unsigned odd = __activemask();
    if (lane == 1) seen->odd = odd;
  }
  if (lane < 10) {
    const unsigned few = __activemask();
    unsigned sum = lane;
    for (int distance = 8; distance > 0; distance /= 2) {
      const unsigned other = __shfl_down_sync(few, sum, lane + distance < 10 ? distance : 0);
      if (lane + distance < 10) sum += other;
    }
    const unsigned again = cg::reduce(cg::coalesced_threads(), lane, cg::plus<unsigned>());
    if (lane == 0) {
      seen->few = __popc(few);
      seen->sum = sum == again ? sum : 0;
    }
    count(seen);
  } else if (lane == 31) {
    seen->alone = __activemask();
    count(seen);
  }
  __syncwarp();
  count(seen);
  for (unsigned i = 0; i < lane % 3; ++i) __threadfence_block();
  const unsigned behind = __activemask();
  if (lane == 0) seen->behind = __popc(behind);
  if (lane == 5) seen->beside = __popc(__activemask());  // the others wait
  __syncthreads();
}

int main() {
  Seen *seen, host;
  cudaMalloc(&seen, sizeof(Seen));
  cudaMemset(seen, 0, sizeof(Seen));
  look<<<1, 32>>>(seen);
  cudaMemcpy(&host, seen, sizeof host, cudaMemcpyDeviceToHost);
  printf("all %d lanes, then lanes %08x and %08x, then %u lanes sum %u, and lane %d alone\n",
         __builtin_popcount(host.all), host.even, host.odd, host.few, host.sum,
         host.alone == 0x80000000u ? 31 : -1);
  printf("%u atomics counted %u, behind a loop %u lanes, beside a barrier %u\n", host.atomics, host.counted,
         host.behind, host.beside);
  cudaFree(seen);
}

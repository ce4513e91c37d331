// SPDX-License-Identifier: MIT
// One atomic for all lanes of a warp that keep an element, as NVIDIA's guide writes it: the other lanes have no
// value of `place` before the shuffle, and nothing is said of that.
// prints: 333 kept by groups, 333 by masks, in 32 atomics each
#include <cooperative_groups.h>
#include <cstdio>
namespace cg = cooperative_groups;

__device__ int by_group(int *count, int *atomics) {
  auto group = cg::coalesced_threads();
  int place;
  if (group.thread_rank() == 0) {
    place = atomicAdd(count, static_cast<int>(group.size()));
    atomicAdd(atomics, 1);
  }
  return group.shfl(place, 0) + static_cast<int>(group.thread_rank());
}

__device__ int by_mask(int *count, int *atomics) {
  const unsigned mask = __activemask(), lane = threadIdx.x % 32;
  const int leader = __ffs(mask) - 1;
  int place;
  if (lane == leader) {
    place = atomicAdd(count, __popc(mask));
    atomicAdd(atomics, 1);
  }
  place = __shfl_sync(mask, place, leader);
  return place + __popc(mask & ((1u << lane) - 1));
}

__global__ void keep(const int *from, int *groups, int *masks, int *counts, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || from[i] % 3 != 0) return;
  groups[by_group(&counts[0], &counts[1])] = from[i];
  masks[by_mask(&counts[2], &counts[3])] = from[i];
}

int main() {
  const int n = 1000, blocks = 16;
  int *from, *groups, *masks, *counts;
  cudaMallocManaged(&from, n * sizeof(int));
  cudaMallocManaged(&groups, n * sizeof(int));
  cudaMallocManaged(&masks, n * sizeof(int));
  cudaMallocManaged(&counts, 4 * sizeof(int));
  for (int i = 0; i < n; ++i) from[i] = i + 1;
  for (int i = 0; i < 4; ++i) counts[i] = 0;
  keep<<<blocks, 128>>>(from, groups, masks, counts, n);
  cudaDeviceSynchronize();
  long long sums[2] = {};
  for (int i = 0; i < counts[0]; ++i) sums[0] += groups[i];
  for (int i = 0; i < counts[2]; ++i) sums[1] += masks[i];
  printf("%d kept by groups, %d by masks, in %d atomics each\n", counts[0], counts[2],
         counts[1] == counts[3] && sums[0] == sums[1] ? counts[1] : 0);
  cudaFree(from);
  cudaFree(groups);
  cudaFree(masks);
  cudaFree(counts);
}

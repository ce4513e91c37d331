// SPDX-License-Identifier: MIT
// Cooperative groups: reduction in a block, in tiles of 32 and in tiles of 4, and thread_group.
// prints: block 8128, tiles of 32 8128, tiles of 4 8128, group 8128
#include <cooperative_groups.h>
#include <cstdio>
namespace cg = cooperative_groups;

__device__ int reduce_sum(cg::thread_group g, int *temp, int val) {
  int lane = g.thread_rank();
  for (int i = g.size() / 2; i > 0; i /= 2) {
    temp[lane] = val;
    g.sync();
    if (lane < i) val += temp[lane + i];
    g.sync();
  }
  return val;
}

template <unsigned size>
__device__ int tile_sum(cg::thread_block_tile<size> tile, int val) {
  for (int i = tile.size() / 2; i > 0; i /= 2) val += tile.shfl_down(val, i);
  return val;
}

__global__ void sums(int *out) {
  __shared__ int temp[128];
  cg::thread_block block = cg::this_thread_block();
  const int mine = block.thread_rank();
  int sum = reduce_sum(block, temp, mine);
  if (block.thread_rank() == 0) atomicAdd(&out[0], sum);
  auto tile32 = cg::tiled_partition<32>(block);
  sum = tile_sum<32>(tile32, mine);
  if (tile32.thread_rank() == 0) atomicAdd(&out[1], sum);
  cg::thread_block_tile<4> tile4 = cg::tiled_partition<4>(tile32);
  sum = tile_sum(tile4, mine);
  if (tile4.thread_rank() == 0) atomicAdd(&out[2], sum);
  cg::thread_group warp = cg::tiled_partition(block, 32);
  block.sync();
  sum = reduce_sum(warp, temp + block.thread_rank() / 32 * 32, mine);
  if (warp.thread_rank() == 0) atomicAdd(&out[3], sum);
}

int main() {
  int *d_out, out[4];
  cudaMalloc(&d_out, sizeof(out));
  cudaMemset(d_out, 0, sizeof(out));
  sums<<<1, 128>>>(d_out);
  cudaMemcpy(out, d_out, sizeof(out), cudaMemcpyDeviceToHost);
  printf("block %d, tiles of 32 %d, tiles of 4 %d, group %d\n", out[0], out[1], out[2], out[3]);
  cudaFree(d_out);
  return out[0] != 8128 || out[1] != 8128 || out[2] != 8128 || out[3] != 8128;
}

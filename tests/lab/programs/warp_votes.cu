// SPDX-License-Identifier: MIT
// Votes, match, ballot and broadcast: stream compaction by warps.
// prints: 334 multiples of 3 among 1000, in order within each warp: yes
#include <cstdio>

__device__ int kept;

__global__ void compact(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  const int value = i < n ? in[i] : -1;
  const bool keep = i < n && value % 3 == 0;
  const unsigned votes = __ballot_sync(0xffffffffu, keep);
  int base = 0;
  if (lane == 0 && votes != 0) base = atomicAdd(&kept, __popc(votes));
  base = __shfl_sync(0xffffffffu, base, 0);
  if (keep) out[base + __popc(votes & ((1u << lane) - 1))] = value;
  const unsigned same = __match_any_sync(0xffffffffu, keep ? 1 : 0);
  if (__any_sync(0xffffffffu, keep) && keep && same != votes) out[0] = -100;
}

int main() {
  const int n = 1000;
  int in[n], out[n], *d_in, *d_out, zero = 0, count = 0;
  for (int i = 0; i < n; ++i) in[i] = i;
  cudaMalloc(&d_in, sizeof in);
  cudaMalloc(&d_out, sizeof out);
  cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(kept, &zero, sizeof zero);
  compact<<<8, 128>>>(d_in, d_out, n);
  cudaMemcpyFromSymbol(&count, kept, sizeof count);
  cudaMemcpy(out, d_out, count * sizeof(int), cudaMemcpyDeviceToHost);
  bool right = true;
  long sum = 0;
  for (int i = 0; i < count; ++i) {
    right = right && out[i] % 3 == 0;
    if (i > 0 && out[i] / 32 == out[i - 1] / 32) right = right && out[i] > out[i - 1];
    sum += out[i];
  }
  right = right && sum == 166833;
  printf("%d multiples of 3 among %d, in order within each warp: %s\n", count, n,
         right ? "yes" : "no");
  cudaFree(d_in);
  cudaFree(d_out);
  return !right;
}

// SPDX-License-Identifier: MIT
// Asynchronous copies to shared memory, two tiles ahead of the sums (pipeline primitives).
// prints: sums of 8 tiles: 0 wrong
#include <cuda_pipeline.h>

#include <cstdio>

__global__ void sum_tiles(const int4* in, int* out, int tiles) {
  __shared__ int4 stage[2][64];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&stage[0][t], &in[t], sizeof(int4));
  __pipeline_commit();
  int sum = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 1 < tiles) {
      __pipeline_memcpy_async(&stage[(tile + 1) % 2][t], &in[(tile + 1) * 64 + t], sizeof(int4));
    }
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    const int4 other = stage[tile % 2][63 - t];
    sum += other.x + other.y + other.z + other.w;
    __syncthreads();
  }
  out[t] = sum;
}

int main() {
  const int tiles = 8, n = tiles * 64;
  int4 in[n], *d_in;
  int out[64], *d_out;
  for (int i = 0; i < n; ++i) in[i] = make_int4(i, 1, 2, -i % 3);
  cudaMalloc(&d_in, sizeof in);
  cudaMalloc(&d_out, sizeof out);
  cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice);
  sum_tiles<<<1, 64>>>(d_in, d_out, tiles);
  cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int t = 0; t < 64; ++t) {
    int sum = 0;
    for (int tile = 0; tile < tiles; ++tile) {
      const int i = tile * 64 + 63 - t;
      sum += i + 3 + -i % 3;
    }
    wrong += sum != out[t];
  }
  printf("sums of %d tiles: %d wrong\n", tiles, wrong);
  cudaFree(d_in);
  cudaFree(d_out);
  return wrong;
}

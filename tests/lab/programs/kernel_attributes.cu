// SPDX-License-Identifier: MIT
// What the runtime tells of a kernel, and the n-th bit that is set.
// prints: the version of the runtime is that of the headers
// prints: tile<32>: 136 bytes of shared memory, halo: 56, 40 bytes of constants, 1024 threads
// prints: bits 4 4 5 6, none, and downwards 4
#include <cstdio>

__constant__ int factors[10];

template <int n>
__global__ void tile(float *out) {
  __shared__ float row[n], ends[2];
  row[threadIdx.x] = 1;
  if (threadIdx.x < 2) ends[threadIdx.x] = 2;
  __syncthreads();
  out[threadIdx.x] = row[n - 1 - threadIdx.x] * ends[threadIdx.x % 2];
}
static __global__ void halo(double *out) {
  __shared__ double around[7];
  if (threadIdx.x < 7) around[threadIdx.x] = factors[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 7) out[threadIdx.x] = around[6 - threadIdx.x];
}
__global__ void bits(int *out) {
  if (threadIdx.x < 4) out[threadIdx.x] = static_cast<int>(__fns(0xf0f0, 4, static_cast<int>(threadIdx.x)));
  if (threadIdx.x == 4) out[4] = static_cast<int>(__fns(1, 1, 1));
  if (threadIdx.x == 5) out[5] = static_cast<int>(__fns(0xff, 5, -2));
}

int main() {
  int version = 0;
  cudaRuntimeGetVersion(&version);
  printf("the version of the runtime is %s\n", version == CUDART_VERSION ? "that of the headers" : "another one");
  cudaFuncAttributes of_tile, of_halo;
  cudaFuncGetAttributes(&of_tile, tile<32>);
  cudaFuncGetAttributes(&of_halo, reinterpret_cast<const void *>(halo));
  printf("tile<32>: %zu bytes of shared memory, halo: %zu, %zu bytes of constants, %d threads\n",
         of_tile.sharedSizeBytes, of_halo.sharedSizeBytes, of_halo.constSizeBytes, of_tile.maxThreadsPerBlock);
  int *found, host[6];
  cudaMalloc(&found, sizeof host);
  bits<<<1, 32>>>(found);
  cudaMemcpy(host, found, sizeof host, cudaMemcpyDeviceToHost);
  printf("bits %d %d %d %d, %s, and downwards %d\n", host[0], host[1], host[2], host[3],
         host[4] == -1 ? "none" : "some", host[5]);
  cudaFree(found);
}

// SPDX-License-Identifier: MIT
// printf in a kernel, and what the device says about itself.
// prints: hello from block 0, thread 0
// prints: hello from block 0, thread 1
// prints: hello from block 1, thread 0
// prints: hello from block 1, thread 1
// prints: warps of 32 threads, at most 1024 threads in a block: yes
#include <stdio.h>

__global__ void hello() {
  printf("hello from block %d, thread %d\n", blockIdx.x, threadIdx.x);
}

int main() {
  for (int block = 0; block < 1; ++block) {
    hello<<<2, 2>>>();
    cudaDeviceSynchronize();
  }
  int count = 0;
  cudaGetDeviceCount(&count);
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, 0);
  fprintf(stderr, "%s: sm_%d%d, %d multiprocessors, %zu MiB\n", p.name, p.major, p.minor,
          p.multiProcessorCount, p.totalGlobalMem >> 20);
  fprintf(stderr, "shared memory %zu, registers %d, constants %zu, grid up to %d x %d x %d\n",
          p.sharedMemPerBlock, p.regsPerBlock, p.totalConstMem, p.maxGridSize[0], p.maxGridSize[1],
          p.maxGridSize[2]);
  printf("warps of %d threads, at most %d threads in a block: %s\n", p.warpSize,
         p.maxThreadsPerBlock, count > 0 && p.warpSize == 32 ? "yes" : "no");
  return 0;
}

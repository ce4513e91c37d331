// A race that comes late is not found by a sample, and is found by all checks.
// flags: --check 0
// note: unchecked 0 8
// prints: done
// exit: 0
// flags: --check all
// finding: race 14 96
#include <cstdio>

__global__ void step(int* x, int number) {
  __shared__ int tile[64];
  tile[threadIdx.x] = number;
  if (number < 7) __syncthreads();
  x[threadIdx.x] = tile[63 - threadIdx.x];
}

int main() {
  int* x;
  cudaMalloc(&x, 64 * sizeof(int));
  for (int i = 0; i < 10; ++i) step<<<1, 64>>>(x, i);
  cudaDeviceSynchronize();
  std::printf("done\n");
}

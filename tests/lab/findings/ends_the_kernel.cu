// What cannot go on ends its kernel, and the program goes on behind it.
// flags: --stop never
// finding: divergent-barrier 15 1
// finding: assertion-failed 22 1
// prints: cudaSuccess
// prints: cudaErrorAssert
// prints: 63
// flags:
// finding: divergent-barrier 15 1
#include <cassert>
#include <cstdio>

__global__ void divergent(int* x) {
  if (threadIdx.x < 32) {
    __syncthreads();
    x[0] = 1;
  } else {
    __syncthreads();
    x[1] = 1;
  }
}
__global__ void asserts(int n) { assert(threadIdx.x < n); }
__global__ void good(int* x) { x[threadIdx.x] = threadIdx.x; }

int main() {
  int host[64], *x;
  cudaMalloc(&x, sizeof host);
  divergent<<<1, 64>>>(x);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  asserts<<<1, 8>>>(4);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  cudaDeviceReset();
  good<<<1, 64>>>(x);
  cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[63]);
}

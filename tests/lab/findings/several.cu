// Three findings in one kernel, one of them met by many threads, and a note; then a second kernel.
// flags: --stop never
// finding: out-of-bounds 38 40
// finding: race 39 120
// finding: out-of-bounds 41 64
// note: same-value 40 1
// prints: first: cudaErrorIllegalAddress
// prints: reset: cudaSuccess
// prints: 1
// flags:
// finding: out-of-bounds 38 40
// finding: race 39 120
// finding: out-of-bounds 41 64
// note: same-value 40 1
// flags: --stop first
// finding: out-of-bounds 38 1
// flags: --stop never --allow out-of-bounds,race
// exit: 0
// note: out-of-bounds 38 40
// note: race 39 120
// note: out-of-bounds 41 64
// note: same-value 40 1
// prints: first: cudaSuccess
// prints: reset: cudaSuccess
// prints: 1
// flags: --strict --stop never --allow race,out-of-bounds
// note: out-of-bounds 38 40
// note: race 39 120
// note: out-of-bounds 41 64
// finding: same-value 40 1
// prints: first: cudaSuccess
// prints: reset: cudaSuccess
// prints: 1
#include <cstdio>

__global__ void first(int* x, int* flag, int n) {
  __shared__ int tile[64];
  tile[threadIdx.x] = x[threadIdx.x + 40];
  x[threadIdx.x] = tile[63 - threadIdx.x];
  *flag = 1;
  x[-n] = 5;
}

__global__ void second(int* x) {
  x[threadIdx.x] += 1;
}

int main() {
  int host[64] = {}, *x, *flag;
  cudaMalloc(&x, sizeof host);
  cudaMalloc(&flag, sizeof(int));
  cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
  first<<<1, 64>>>(x, flag, 1);
  std::printf("first: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  cudaDeviceReset();
  std::printf("reset: %s\n", cudaGetErrorName(cudaGetLastError()));
  second<<<1, 64>>>(x);
  cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[63]);
}

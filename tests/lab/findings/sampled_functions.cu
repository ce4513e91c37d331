// A function that blocks without checks have called is checked where others call it: another kernel, and host code.
// flags: --check 0 --stop never
// note: unchecked 0 3
// finding: out-of-bounds 13 63
// finding: device-pointer 13 1
// prints: 2080
// flags: --check all --stop never
// finding: out-of-bounds 13 63
// finding: device-pointer 13 1
// prints: 2080
#include <cstdio>

__host__ __device__ __attribute__((noinline)) int at(const int* x, int i) { return x[i]; }

__global__ void sums(const int* x, int* y) {
  y[threadIdx.x] = 0;
  for (int i = 0; i <= threadIdx.x; ++i) y[threadIdx.x] += at(x, i);
}
__global__ void shifts(const int* x, int* y) {
  y[threadIdx.x] = at(x, threadIdx.x + 63);
}

int main() {
  int host[64], *x, *y;
  for (int i = 0; i < 64; ++i) host[i] = i + 1;
  cudaMalloc(&x, sizeof host);
  cudaMalloc(&y, sizeof host);
  cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
  for (int i = 0; i < 5; ++i) sums<<<1, 64>>>(x, y);
  cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost);
  shifts<<<1, 64>>>(x, y);
  at(x, 0);
  std::printf("%d\n", at(host, 63));
}

// expect: 13: race: kernel scan, .* shared value
// Kogge-Stone in place: a value may be overwritten before it is read.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void scan(int* x) {
  __shared__ int value[256];
  const int i = threadIdx.x;
  value[i] = x[i];
  for (int step = 1; step < 256; step *= 2) {
    __syncthreads();
    if (i >= step) value[i] += value[i - step];
  }
  x[i] = value[i];
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  scan<<<1, 256>>>(x);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

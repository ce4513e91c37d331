// expect: 9: out of bounds: kernel difference, .* 4 bytes before a device allocation
// The first thread reads to the left of the array.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void difference(const int* x, int* y) {
  const int i = threadIdx.x;
  y[i] = x[i] - x[i - 1];
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  int* y;
  cudaMalloc(&y, n * sizeof(int));
  difference<<<1, 256>>>(x, y);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

// expect: 8: out of bounds: kernel twice, .* byte 0 of a device allocation of 1024 bytes, which was freed
// The array is freed before the kernel uses it.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void twice(int* y) {
  y[threadIdx.x] *= 2;
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  int* y;
  cudaMalloc(&y, n * sizeof(int));
  cudaFree(y);
  twice<<<1, 256>>>(y);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

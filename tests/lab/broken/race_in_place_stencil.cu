// expect: 9: race: kernel smooth, .* of a device allocation of 1024 bytes
// Neighbours are read while their threads overwrite them.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void smooth(int* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i + 1 < n) x[i] = (x[i - 1] + x[i] + x[i + 1]) / 3;
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  smooth<<<4, 64>>>(x, n);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

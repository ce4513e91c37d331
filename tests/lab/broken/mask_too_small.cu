// expect: 10: wrong mask: kernel sum, .* reads lane 16, which its mask does not name
// The mask leaves out the lanes that are read.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void sum(int* x) {
  int value = x[threadIdx.x];
  if (threadIdx.x < 16) {
    value += __shfl_down_sync(0x0000ffff, value, 8);
  }
  x[threadIdx.x] = value;
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  sum<<<1, 32>>>(x);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

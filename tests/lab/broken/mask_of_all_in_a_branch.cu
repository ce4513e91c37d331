// expect: 11: missing lane: kernel sum, .* __shfl_down_sync
// The mask names lanes that do not come to the shuffle.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void sum(int* x) {
  int value = x[threadIdx.x];
  if (threadIdx.x < 16) {
    for (int step = 8; step > 0; step /= 2) {
      value += __shfl_down_sync(0xffffffff, value, step);
    }
  }
  if (threadIdx.x == 0) x[0] = value;
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

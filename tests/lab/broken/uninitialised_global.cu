// expect: 8: uninitialised read: kernel sum, .* atomically updates byte 0 of a device allocation of 4 bytes
// The sum is never set to 0 before blocks add to it.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void sum(const int* x, int* total) {
  atomicAdd(total, x[threadIdx.x]);
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  int* total;
  cudaMalloc(&total, sizeof(int));
  sum<<<1, 256>>>(x, total);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

// expect: 10: (race|uninitialised read): kernel reverse, .* shared tile
// Reverses a tile in shared memory, but does not wait until it is filled.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void reverse(int* x) {
  __shared__ int tile[256];
  tile[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = tile[255 - threadIdx.x];
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  reverse<<<1, 256>>>(x);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

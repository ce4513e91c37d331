// expect: 13: uninitialised read: kernel stencil, .* shared tile at byte 1028
// The cells beside the tile are never loaded.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void stencil(int* x) {
  __shared__ int tile[258];
  const int i = threadIdx.x + 1;
  tile[i] = x[threadIdx.x];
  if (threadIdx.x == 0) tile[0] = 0;
  __syncthreads();
  x[threadIdx.x] = tile[i - 1] + tile[i] + tile[i + 1];
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  stencil<<<1, 256>>>(x);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

// expect: 11: out of bounds: kernel smooth, .* index 256 into an array
// A stencil reads one element beyond its tile.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void smooth(int* x) {
  __shared__ int tile[256];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[threadIdx.x] + tile[threadIdx.x + 1];
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  smooth<<<1, 256>>>(x);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

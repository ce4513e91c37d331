// expect: 11: divergent barrier: kernel sides, 
// Both sides of a branch have a barrier, but not the same one.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void sides(int* x) {
  __shared__ int tile[256];
  if (threadIdx.x % 2 == 0) {
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
  } else {
    tile[threadIdx.x] = -x[threadIdx.x];
    __syncthreads();
  }
  x[threadIdx.x] = tile[255 - threadIdx.x];
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  sides<<<1, 256>>>(x);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

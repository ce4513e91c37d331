// expect: 13: too early: kernel twice, 
// The tile is used before the asynchronous copy of it is waited for.
#include <cuda_pipeline.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void twice(int* x) {
  __shared__ int tile[64];
  __pipeline_memcpy_async(&tile[threadIdx.x], &x[threadIdx.x], sizeof(int));
  __pipeline_commit();
  x[threadIdx.x] = 2 * tile[threadIdx.x];
  __pipeline_wait_prior(0);
}
int main() {
  const int n = 64;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  twice<<<1, 64>>>(x);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

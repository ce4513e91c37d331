// note: 11: barrier without all threads: kernel half, .* has returned
// Half of the block waits at a barrier that the other half never reaches.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void half(int* x) {
  __shared__ int tile[256];
  tile[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x < 128) {
    __syncthreads();
    x[threadIdx.x] = tile[threadIdx.x + 128];
  }
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  half<<<1, 256>>>(x);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

// note: 11: barrier without all threads: kernel shift, .* has returned
// Threads past the end return above a barrier.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void shift(int* x, int n) {
  __shared__ int tile[256];
  if (threadIdx.x >= n) return;
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[(threadIdx.x + 1) % n];
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  shift<<<1, 256>>>(x, 200);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

// expect: 9: uninitialised read: kernel histogram, .* shared counts
// A histogram in shared memory whose counters nobody has set to 0.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void histogram(int* x) {
  __shared__ int counts[16];
  atomicAdd(&counts[x[threadIdx.x] % 16], 1);
  __syncthreads();
  if (threadIdx.x < 16) x[threadIdx.x] = counts[threadIdx.x];
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  histogram<<<1, 256>>>(x);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

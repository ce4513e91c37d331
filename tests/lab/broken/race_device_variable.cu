// expect: 10: race: kernel count, .* __device__ total
// A __device__ variable is added to without an atomic.
#include <cstdio>
#include <cstdlib>
#include <vector>

__device__ int total;

__global__ void count(const int* x) {
  if (x[threadIdx.x] > 0) ++total;
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  count<<<1, 256>>>(x);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

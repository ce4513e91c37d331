// expect: 8: race: kernel histogram, .* of a device allocation of 64 bytes
// Counts without atomicAdd.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void histogram(const int* x, int* counts) {
  counts[x[threadIdx.x] % 16] += 1;
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  int* counts;
  cudaMalloc(&counts, 16 * sizeof(int));
  cudaMemset(counts, 0, 16 * sizeof(int));
  histogram<<<1, 256>>>(x, counts);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

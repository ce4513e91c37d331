// expect: 14: race: kernel sum, .* nothing orders the two blocks
// The last block adds what the others wrote, but nobody fenced before counting.
#include <cstdio>
#include <cstdlib>
#include <vector>

__device__ unsigned done;

__global__ void sum(int* x, int* part) {
  if (threadIdx.x > 0) return;
  part[blockIdx.x] = x[blockIdx.x * blockDim.x];
  if (atomicAdd(&done, 1) == gridDim.x - 1) {
    int total = 0;
    for (int b = 0; b < gridDim.x; ++b) total += part[b];
    part[gridDim.x] = total;
  }
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  int* part;
  cudaMalloc(&part, 9 * sizeof(int));
  sum<<<8, 32>>>(x, part);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

// expect: 12: (race|uninitialised read): kernel two_passes
// Blocks use what other blocks write in the same launch.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void two_passes(const int* x, int* part, int* total) {
  if (threadIdx.x == 0) part[blockIdx.x] = x[blockIdx.x];
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    int sum = 0;
    for (int b = 0; b < gridDim.x; ++b) sum += part[b];
    *total = sum;
  }
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  int* part;
  cudaMalloc(&part, 8 * sizeof(int));
  cudaMemset(part, 0, 8 * sizeof(int));
  two_passes<<<8, 32>>>(x, part, x);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

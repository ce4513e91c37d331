// expect: 8: race: kernel sum, block .* nothing orders the two blocks
// All blocks add to one number.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void sum(int* x) {
  if (threadIdx.x == 0 && blockIdx.x > 0) x[0] += x[blockIdx.x * blockDim.x];
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  sum<<<8, 32>>>(x);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

// expect: 9: out of bounds: kernel increment, .* byte 0 past the end of a device allocation of 1000 bytes
// The guard is <= where it has to be <.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void increment(int* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) x[i] += 1;
}

int main() {
  const int n = 250;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  increment<<<2, 128>>>(x, n);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

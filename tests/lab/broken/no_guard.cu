// expect: 9: out of bounds: kernel twice, 
// The grid has more threads than there are elements, and nothing keeps them off.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void twice(int* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] *= 2;
}

int main() {
  const int n = 1000;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  twice<<<(n + 127) / 128, 128>>>(x);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

// note: 20: launch failed: kernel fill, launched at .* 65536 bytes of dynamic shared memory
// More dynamic shared memory than a block gets without cudaFuncSetAttribute.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void fill(int* x) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[255 - threadIdx.x];
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  fill<<<1, 256, 64 * 1024>>>(x);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

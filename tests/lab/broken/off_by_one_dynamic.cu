// expect: 9: out of bounds: kernel smooth, .* dynamic shared memory
// Dynamic shared memory with room for one element too few.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void smooth(int* x) {
  extern __shared__ int tile[];
  tile[threadIdx.x + 1] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[threadIdx.x + 1];
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  smooth<<<1, 256, 256 * sizeof(int)>>>(x);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

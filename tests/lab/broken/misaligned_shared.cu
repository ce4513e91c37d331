// expect: 10: misaligned: kernel stage, .* writes 16 bytes
// A vector store into a row of a padded tile.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void stage(int* x) {
  __shared__ __align__(16) int tile[8][33];
  const int row = threadIdx.x;
  *reinterpret_cast<int4*>(&tile[row][0]) = reinterpret_cast<const int4*>(x)[row];
  __syncthreads();
  x[row] = tile[7 - row][0];
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  stage<<<1, 8>>>(x);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

// expect: 7: uninitialised read: kernel k, .* no thread of the block has written
// A sum begins at what was there, and nobody has written that.
#include <cstdio>

__global__ void k(int* data) {
  __shared__ int sum;
  if (threadIdx.x == 0) data[0] = sum + 1;
}

int main() {
  int *data, out = 0;
  cudaMalloc(&data, 1024 * sizeof(int));
  cudaMemset(data, 0, 1024 * sizeof(int));
  k<<<1, 2>>>(data);
  cudaMemcpy(&out, data, sizeof out, cudaMemcpyDeviceToHost);
  std::printf("%d\n", out);
  cudaFree(data);
}

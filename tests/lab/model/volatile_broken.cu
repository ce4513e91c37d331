// note: 6: unordered: kernel k, .* "Morally strong operations"
// Volatile writes are strong, so this is no race, but no order tells which stays.
#include <cstdio>

__global__ void k(volatile int* data) {
  data[0] = blockIdx.x;
  __threadfence();
}

int main() {
  int *data, out = 0;
  cudaMalloc(&data, 1024 * sizeof(int));
  cudaMemset(data, 0, 1024 * sizeof(int));
  k<<<2, 1>>>(data);
  cudaMemcpy(&out, data, sizeof out, cudaMemcpyDeviceToHost);
  std::printf("%d\n", out);
  cudaFree(data);
}

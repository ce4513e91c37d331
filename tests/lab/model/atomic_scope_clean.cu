// clean
// Within a block atomic operations of its scope are enough.
#include <cstdio>

__global__ void k(int* data) {
  atomicAdd_block(data + blockIdx.x, 1);
}

int main() {
  int *data, out = 0;
  cudaMalloc(&data, 1024 * sizeof(int));
  cudaMemset(data, 0, 1024 * sizeof(int));
  k<<<2, 32>>>(data);
  cudaMemcpy(&out, data, sizeof out, cudaMemcpyDeviceToHost);
  std::printf("%d\n", out);
  cudaFree(data);
}

// clean
// A fence stands behind the lock, and one before it is given back.
#include <cstdio>

__device__ int lock;
__global__ void k(int* data) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(&lock, 0, 1) != 0) {
  }
  __threadfence();
  data[0] += 1;
  __threadfence();
  atomicExch(&lock, 0);
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

// note: 8: lock: kernel k takes a lock
// A lock is taken, and nothing keeps what it guards behind that.
#include <cstdio>

__device__ int lock;
__global__ void k(int* data) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(&lock, 0, 1) != 0) {
  }
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

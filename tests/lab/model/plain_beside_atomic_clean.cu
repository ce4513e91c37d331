// clean
// All accesses to the word are atomic.
#include <cstdio>

__global__ void k(int* data) {
  int seen = threadIdx.x % 32 == 0 ? atomicAdd(data, 0) : 0;
  seen = __shfl_sync(0xffffffff, seen, 0);
  if (threadIdx.x % 32 == 0) atomicMax(data, seen + 1);
}

int main() {
  int *data, out = 0;
  cudaMalloc(&data, 1024 * sizeof(int));
  cudaMemset(data, 0, 1024 * sizeof(int));
  k<<<1, 64>>>(data);
  cudaMemcpy(&out, data, sizeof out, cudaMemcpyDeviceToHost);
  std::printf("%d\n", out);
  cudaFree(data);
}

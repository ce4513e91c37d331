// expect: 14: race: kernel k, .* nothing orders the two blocks
// Nothing publishes the value with the flag.
#include <cstdio>

__device__ int flag;
__global__ void k(int* data) {
  if (blockIdx.x == 0) {
    data[0] = 42;
    atomicExch(&flag, 1);
  } else {
    while (atomicAdd(&flag, 0) == 0) {
    }
    __threadfence();
    data[1] = data[0];
  }
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

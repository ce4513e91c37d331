// clean
// A volatile flag behind a fence, and a thread that waits for it.
#include <cstdio>

__global__ void k(volatile int* data) {
  if (blockIdx.x == 0) {
    data[1] = 42;
    __threadfence();
    data[0] = 1;
  } else {
    while (data[0] == 0) {
    }
    __threadfence();
    data[2] = data[1];
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

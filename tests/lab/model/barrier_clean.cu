// clean
// A barrier orders the threads of a block.
#include <cstdio>

__global__ void k(int* data) {
  __shared__ int row[64];
  row[threadIdx.x] = threadIdx.x;
  __syncthreads();
  data[threadIdx.x] = row[63 - threadIdx.x];
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

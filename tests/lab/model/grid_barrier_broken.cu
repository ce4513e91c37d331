// expect: 10: race: kernel k, .* nothing orders the two blocks
// A barrier of each block orders no two blocks.
#include <cooperative_groups.h>

#include <cstdio>

__global__ void k(int* data) {
  data[blockIdx.x * 32 + threadIdx.x] = threadIdx.x;
  __syncthreads();
  int next = data[(blockIdx.x + 1) % gridDim.x * 32 + threadIdx.x];
  cooperative_groups::this_grid().sync();
  data[blockIdx.x * 32 + threadIdx.x] = next;
}

int main() {
  int *data, out = 0;
  cudaMalloc(&data, 1024 * sizeof(int));
  cudaMemset(data, 0, 1024 * sizeof(int));
  void* arguments[] = {&data};
  cudaLaunchCooperativeKernel(k, 2, 32, arguments);
  cudaMemcpy(&out, data, sizeof out, cudaMemcpyDeviceToHost);
  std::printf("%d\n", out);
  cudaFree(data);
}

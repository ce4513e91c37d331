// expect: 9: race: kernel k, .* a __syncwarp\(\) between the two
// A shuffle orders no memory.
#include <cstdio>

__global__ void k(int* data) {
  __shared__ int row[32];
  row[threadIdx.x] = threadIdx.x;
  int lane = __shfl_xor_sync(0xffffffff, (int)threadIdx.x, 1);
  data[threadIdx.x] = row[lane];
}

int main() {
  int *data, out = 0;
  cudaMalloc(&data, 1024 * sizeof(int));
  cudaMemset(data, 0, 1024 * sizeof(int));
  k<<<1, 32>>>(data);
  cudaMemcpy(&out, data, sizeof out, cudaMemcpyDeviceToHost);
  std::printf("%d\n", out);
  cudaFree(data);
}

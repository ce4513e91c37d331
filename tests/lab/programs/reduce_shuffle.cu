// SPDX-License-Identifier: MIT
// Sums by warp shuffles, a value per warp in shared memory, and one atomic per block.
// prints: sum of 5000 numbers: 12497500
#include <cstdio>
#include <vector>

__inline__ __device__ int warp_sum(int value) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xffffffff, value, offset);
  }
  return value;
}

__inline__ __device__ int block_sum(int value) {
  static __shared__ int of_warp[32];
  int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
  value = warp_sum(value);
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  value = threadIdx.x < blockDim.x / warpSize ? of_warp[lane] : 0;
  if (warp == 0) value = warp_sum(value);
  return value;
}

__global__ void sum(const int* in, int* total, int n) {
  int mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    mine += in[i];
  }
  mine = block_sum(mine);
  if (threadIdx.x == 0) atomicAdd(total, mine);
}

int main() {
  const int n = 5000;
  std::vector<int> numbers(n);
  for (int i = 0; i < n; ++i) numbers[i] = i;
  int *d_in, *d_total, total = 0;
  cudaMalloc(&d_in, n * sizeof(int));
  cudaMalloc(&d_total, sizeof(int));
  cudaMemcpy(d_in, numbers.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(d_total, 0, sizeof(int));
  sum<<<4, 256>>>(d_in, d_total, n);
  cudaMemcpy(&total, d_total, sizeof(int), cudaMemcpyDeviceToHost);
  printf("sum of %d numbers: %d\n", n, total);
  cudaFree(d_in);
  cudaFree(d_total);
  return total != 12497500;
}

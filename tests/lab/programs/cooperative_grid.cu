// SPDX-License-Identifier: MIT
// A barrier of the whole grid: heat flows along a rod, all steps in one cooperative launch.
// prints: the rod has 10000 units of heat after 20 steps
#include <cooperative_groups.h>

#include <cstdio>
#include <utility>

using namespace cooperative_groups;

__global__ void diffuse(int *a, int *b, int n, int steps) {
  grid_group grid = this_grid();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int s = 0; s < steps; ++s) {
    if (i < n) {
      const int left = i > 0 ? a[i - 1] : a[i], right = i < n - 1 ? a[i + 1] : a[i];
      // Each cell gives away a quarter of itself to either side; what is left over stays.
      b[i] = a[i] - 2 * (a[i] / 4) + left / 4 + right / 4;
    }
    grid.sync();
    int *t = a;
    a = b;
    b = t;
  }
}

int main() {
  int device = 0, supports = 0, blocks_per_sm = 0, n = 500, steps = 20;
  cudaDeviceGetAttribute(&supports, cudaDevAttrCooperativeLaunch, device);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_per_sm, diffuse, 128, 0);
  if (!supports || blocks_per_sm < 1) return 1;
  int heat[500] = {}, *a, *b;
  heat[250] = 10000;
  cudaMalloc(&a, sizeof heat);
  cudaMalloc(&b, sizeof heat);
  cudaMemcpy(a, heat, sizeof heat, cudaMemcpyHostToDevice);
  void *args[] = {&a, &b, &n, &steps};
  cudaError_t code = cudaLaunchCooperativeKernel((void *)diffuse, dim3(4), dim3(128), args, 0, 0);
  if (code != cudaSuccess) printf("%s\n", cudaGetErrorString(code));
  cudaDeviceSynchronize();
  cudaMemcpy(heat, a, sizeof heat, cudaMemcpyDeviceToHost);
  int sum = 0;
  for (int h : heat) sum += h;
  printf("the rod has %d units of heat after %d steps\n", sum, steps);
  cudaFree(a);
  cudaFree(b);
  return sum != 10000;
}

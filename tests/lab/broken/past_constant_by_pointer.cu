// expect: 11: out of bounds: kernel filter, .* byte 20 of __constant__ weights, which has 20
// The same through a pointer.
#include <cstdio>
#include <cstdlib>
#include <vector>

__constant__ float weights[5];

__device__ float sum_of(const float* w, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += w[i];
  return sum;
}
__global__ void filter(float* y, int n) {
  y[threadIdx.x] = sum_of(weights, n);
}

int main() {
  const float host[5] = {1, 2, 3, 2, 1};
  float* y;
  cudaMalloc(&y, 32 * sizeof(float));
  cudaMemcpyToSymbol(weights, host, sizeof host);
  filter<<<1, 32>>>(y, 6);
  cudaDeviceSynchronize();
}

// SPDX-License-Identifier: MIT
// A stencil of radius 3 in one dimension: a tile with its halo in shared memory.
// prints: stencil of 1000: 0 wrong
#include <stdio.h>
#include <stdlib.h>

#define RADIUS 3
#define BLOCK_SIZE 64

__global__ void stencil_1d(const int *in, int *out, int n) {
  __shared__ int temp[BLOCK_SIZE + 2 * RADIUS];
  int gindex = threadIdx.x + blockIdx.x * blockDim.x;
  int lindex = threadIdx.x + RADIUS;
  temp[lindex] = gindex < n ? in[gindex] : 0;
  if (threadIdx.x < RADIUS) {
    int left = gindex - RADIUS, right = gindex + BLOCK_SIZE;
    temp[lindex - RADIUS] = left >= 0 ? in[left] : 0;
    temp[lindex + BLOCK_SIZE] = right < n ? in[right] : 0;
  }
  __syncthreads();
  int result = 0;
  for (int offset = -RADIUS; offset <= RADIUS; offset++) result += temp[lindex + offset];
  if (gindex < n) out[gindex] = result;
}

int main(void) {
  int n = 1000, size = n * sizeof(int), wrong = 0;
  int *in = (int *)malloc(size), *out = (int *)malloc(size), *d_in, *d_out;
  for (int i = 0; i < n; i++) in[i] = i * i % 17;
  cudaMalloc((void **)&d_in, size);
  cudaMalloc((void **)&d_out, size);
  cudaMemcpy(d_in, in, size, cudaMemcpyHostToDevice);
  stencil_1d<<<(n + BLOCK_SIZE - 1) / BLOCK_SIZE, BLOCK_SIZE>>>(d_in, d_out, n);
  cudaMemcpy(out, d_out, size, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i++) {
    int sum = 0;
    for (int j = i - RADIUS; j <= i + RADIUS; j++) sum += j >= 0 && j < n ? in[j] : 0;
    wrong += sum != out[i];
  }
  printf("stencil of %d: %d wrong\n", n, wrong);
  cudaFree(d_in);
  cudaFree(d_out);
  free(in);
  free(out);
  return wrong;
}

// SPDX-License-Identifier: MIT
// Pi by throwing darts; each thread has a linear congruential generator of its own.
// prints: pi is about 3.14
#include <stdio.h>

__device__ unsigned long long hits = 0;

__device__ float next_random(unsigned int *state) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) * (1.0f / 16777216.0f);
}

__global__ void throw_darts(int darts) {
  unsigned int state = (blockIdx.x * blockDim.x + threadIdx.x + 1) * 747796405u;
  unsigned int inside = 0;
  for (int i = 0; i < darts; i++) {
    float x = next_random(&state), y = next_random(&state);
    if (x * x + y * y < 1.0f) inside++;
  }
  atomicAdd(&hits, (unsigned long long)inside);
}

int main() {
  const int blocks = 8, threads = 64, darts = 400;
  throw_darts<<<blocks, threads>>>(darts);
  cudaError_t err = cudaDeviceSynchronize();
  if (err != cudaSuccess) return 1;
  unsigned long long h = 0;
  cudaMemcpyFromSymbol(&h, hits, sizeof(h));
  double pi = 4.0 * h / ((double)blocks * threads * darts);
  printf("pi is about %.2f\n", pi);
  return pi < 3.12 || pi > 3.16;
}

// SPDX-License-Identifier: MIT
// Bitonic sort: one launch for each step, and one block in shared memory.
// prints: steps: sorted
// prints: block: sorted
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void bitonic_step(float* values, int j, int k) {
  unsigned i = threadIdx.x + blockDim.x * blockIdx.x, other = i ^ j;
  if (other > i) {
    const bool up = (i & k) == 0;
    const float a = values[i], b = values[other];
    if ((a > b) == up) {
      values[i] = b;
      values[other] = a;
    }
  }
}

template <typename T, int N>
__global__ void bitonic_block(T* values) {
  __shared__ T s[N];
  unsigned i = threadIdx.x;
  s[i] = values[i];
  __syncthreads();
  for (unsigned k = 2; k <= N; k <<= 1) {
    for (unsigned j = k >> 1; j > 0; j >>= 1) {
      unsigned other = i ^ j;
      if (other > i) {
        if (((i & k) == 0) == (s[i] > s[other])) {
          T swapped = s[i];
          s[i] = s[other];
          s[other] = swapped;
        }
      }
      __syncthreads();
    }
  }
  values[i] = s[i];
}

int main() {
  const int n = 1024, one = 256;
  std::vector<float> v(n);
  unsigned seed = 12345;
  for (float& x : v) x = (seed = seed * 1664525u + 1013904223u) >> 8;
  std::vector<float> unsorted = v;
  float* d;
  cudaMalloc(&d, n * sizeof(float));
  cudaMemcpy(d, v.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  for (int k = 2; k <= n; k <<= 1)
    for (int j = k >> 1; j > 0; j = j >> 1) bitonic_step<<<n / 256, 256>>>(d, j, k);
  cudaMemcpy(v.data(), d, n * sizeof(float), cudaMemcpyDeviceToHost);
  bool ok = std::is_sorted(v.begin(), v.end());
  printf("steps: %s\n", ok ? "sorted" : "not sorted");

  cudaMemcpy(d, unsorted.data(), one * sizeof(float), cudaMemcpyHostToDevice);
  bitonic_block<float, one><<<1, one>>>(d);
  cudaMemcpy(v.data(), d, one * sizeof(float), cudaMemcpyDeviceToHost);
  const bool block_ok = std::is_sorted(v.begin(), v.begin() + one);
  printf("block: %s\n", block_ok ? "sorted" : "not sorted");
  cudaFree(d);
  return !(ok && block_ok);
}

// SPDX-License-Identifier: MIT
// Two arrays of different types in one piece of dynamic shared memory, and 64 KiB of it.
// prints: pairs: 0 wrong
// prints: large: 0 wrong
#include <cstdio>
#include <cstdlib>

extern __shared__ __align__(16) unsigned char raw[];

__global__ void pairs(const float* values, const int* keys, float* out, int n) {
  extern __shared__ float floats[];
  int* ints = (int*)&floats[n];
  int i = threadIdx.x;
  floats[i] = values[i];
  ints[i] = keys[i];
  __syncthreads();
  out[i] = floats[ints[i]];
}

__global__ void large(int* out) {
  int* words = reinterpret_cast<int*>(raw);
  for (int i = threadIdx.x; i < 16384; i += blockDim.x) words[i] = i;
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 16384; i += 1024) sum += words[i + threadIdx.x];
  out[threadIdx.x] = sum;
}

int main() {
  const int n = 96;
  float values[n], result[n], *d_values, *d_out;
  int keys[n], *d_keys;
  for (int i = 0; i < n; ++i) {
    values[i] = 10 * i;
    keys[i] = (i * 5) % n;
  }
  cudaMalloc(&d_values, sizeof values);
  cudaMalloc(&d_out, sizeof values);
  cudaMalloc(&d_keys, sizeof keys);
  cudaMemcpy(d_values, values, sizeof values, cudaMemcpyHostToDevice);
  cudaMemcpy(d_keys, keys, sizeof keys, cudaMemcpyHostToDevice);
  const size_t bytes = n * (sizeof(float) + sizeof(int));
  pairs<<<1, n, bytes>>>(d_values, d_keys, d_out, n);
  cudaMemcpy(result, d_out, sizeof result, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += result[i] != 10.0f * ((i * 5) % n);
  printf("pairs: %d wrong\n", wrong);

  cudaFuncSetAttribute(large, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024);
  int sums[64], *d_sums;
  cudaMalloc(&d_sums, sizeof sums);
  large<<<1, 64, 64 * 1024>>>(d_sums);
  cudaMemcpy(sums, d_sums, sizeof sums, cudaMemcpyDeviceToHost);
  int all = wrong;
  wrong = 0;
  for (int i = 0; i < 64; ++i) wrong += sums[i] != 16 * i + 1024 * 120;
  printf("large: %d wrong\n", wrong);
  cudaFree(d_values);
  cudaFree(d_out);
  cudaFree(d_keys);
  cudaFree(d_sums);
  return all + wrong;
}

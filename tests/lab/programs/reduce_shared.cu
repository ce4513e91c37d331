// SPDX-License-Identifier: MIT
// The sum of an array: a tree in dynamic shared memory, and a sum per block that the host adds up.
// prints: sum 499500, largest 999
#include <cstdio>
#include <cstdlib>

__global__ void reduce_sum(const int* in, int* out, int n) {
  extern __shared__ int sdata[];
  unsigned tid = threadIdx.x;
  unsigned i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
  int sum = 0;
  if (i < n) sum += in[i];
  if (i + blockDim.x < n) sum += in[i + blockDim.x];
  sdata[tid] = sum;
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
    if (tid < s) sdata[tid] += sdata[tid + s];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = sdata[0];
}

__global__ void reduce_max(const int* in, int* result, int n) {
  extern __shared__ int sdata[];
  int mine = -1;
  for (int i = threadIdx.x; i < n; i += blockDim.x) mine = max(mine, in[i]);
  sdata[threadIdx.x] = mine;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) sdata[threadIdx.x] = max(sdata[threadIdx.x], sdata[threadIdx.x + s]);
    __syncthreads();
  }
  if (threadIdx.x == 0) *result = sdata[0];
}

int main() {
  const int n = 1000, threads = 128, blocks = (n + 2 * threads - 1) / (2 * threads);
  int* in = (int*)malloc(n * sizeof(int));
  for (int i = 0; i < n; ++i) in[i] = (i * 7) % n;
  int *d_in, *d_out, *d_max;
  cudaMalloc((void**)&d_in, n * sizeof(int));
  cudaMalloc((void**)&d_out, blocks * sizeof(int));
  cudaMalloc((void**)&d_max, sizeof(int));
  cudaMemcpy(d_in, in, n * sizeof(int), cudaMemcpyHostToDevice);
  reduce_sum<<<blocks, threads, threads * sizeof(int)>>>(d_in, d_out, n);
  reduce_max<<<1, threads, threads * sizeof(int)>>>(d_in, d_max, n);
  int* partial = (int*)malloc(blocks * sizeof(int));
  int largest = 0;
  cudaMemcpy(partial, d_out, blocks * sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemcpy(&largest, d_max, sizeof(int), cudaMemcpyDeviceToHost);
  int sum = 0;
  for (int i = 0; i < blocks; ++i) sum += partial[i];
  printf("sum %d, largest %d\n", sum, largest);
  cudaFree(d_in);
  cudaFree(d_out);
  cudaFree(d_max);
  free(in);
  free(partial);
  return sum != 499500 || largest != 999;
}

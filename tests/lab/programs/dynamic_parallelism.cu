// SPDX-License-Identifier: MIT
// Kernels launch kernels: a sort by halves, streams of a kernel, and blocks of a later launch.
// prints: sorted
// prints: 8 times 1, 3 from a stream, 64 blocks
#include <algorithm>
#include <cstdio>
#include <vector>

// Puts the elements below the pivot in front, and launches itself for both halves.
template <class T>
__global__ void quick_sort(T *data, int first, int last) {
  if (threadIdx.x != 0 || first >= last) return;
  T pivot = data[(first + last) / 2];
  int left = first, right = last;
  while (left <= right) {
    while (data[left] < pivot) ++left;
    while (pivot < data[right]) --right;
    if (left <= right) {
      T other = data[left];
      data[left++] = data[right];
      data[right--] = other;
    }
  }
  quick_sort<<<1, 1>>>(data, first, right);
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  quick_sort<<<1, 1, 0, stream>>>(data, left, last);
  cudaStreamDestroy(stream);
}

__global__ void fill(int *data, int value, int count) {
  if (threadIdx.x < count) data[threadIdx.x] = value;
}
__global__ void outer(int *data) {
  data[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    fill<<<1, 32>>>(data, 1, 8);
    fill<<<1, 32, 0, cudaStreamTailLaunch>>>(data + 8, 3, 1);
  }
}
__global__ void one(int *count) { atomicAdd(count, 1); }
__global__ void each_block(int *count) {
  if (threadIdx.x == 0) one<<<1, 1>>>(count);
}

int main() {
  std::vector<float> host(200);
  unsigned state = 1;
  for (float &x : host) x = static_cast<float>((state = state * 1103515245 + 12345) >> 16 & 0x7fff);
  float *data;
  cudaMalloc(&data, host.size() * sizeof(float));
  cudaMemcpy(data, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice);
  quick_sort<<<1, 32>>>(data, 0, static_cast<int>(host.size()) - 1);
  std::vector<float> sorted(host.size());
  cudaMemcpy(sorted.data(), data, host.size() * sizeof(float), cudaMemcpyDeviceToHost);
  std::sort(host.begin(), host.end());
  printf("%s\n", sorted == host ? "sorted" : "not sorted");

  int *numbers, got[10], blocks;
  cudaMalloc(&numbers, 32 * sizeof(int));
  outer<<<1, 32>>>(numbers);
  cudaMemcpy(got, numbers, sizeof got, cudaMemcpyDeviceToHost);
  cudaMemset(numbers, 0, sizeof(int));
  each_block<<<64, 32>>>(numbers);
  cudaMemcpy(&blocks, numbers, sizeof blocks, cudaMemcpyDeviceToHost);
  printf("%d times 1, %d from a stream, %d blocks\n", static_cast<int>(std::count(got, got + 10, 1)), got[8], blocks);
  cudaFree(numbers);
  cudaFree(data);
}

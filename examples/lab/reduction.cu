// SPDX-License-Identifier: MIT
// The sum of an array in three steps, as every course tells it: neighbours first, then without
// divergent warps, then by shuffles.
//
//   ./run lab run --counts examples/lab/reduction.cu
//
// Look at the lanes and transactions of the shared loads: `interleaved` uses few lanes of each
// warp, and `sequential` all of them until less than a warp is left.
//
// prints: interleaved: 148500, expected 148500
// prints: sequential: 148500, expected 148500
// prints: shuffles: 148500, expected 148500
#include <cstdio>
#include <vector>

constexpr int kThreads = 256;

__global__ void interleaved(const int* in, int* total, int n) {
  __shared__ int part[kThreads];
  int t = threadIdx.x, i = blockIdx.x * kThreads + t;
  part[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int step = 1; step < kThreads; step *= 2) {
    if (t % (2 * step) == 0) part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0) atomicAdd(total, part[0]);
}

__global__ void sequential(const int* in, int* total, int n) {
  __shared__ int part[kThreads];
  int t = threadIdx.x, i = blockIdx.x * kThreads + t;
  part[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int step = kThreads / 2; step > 0; step /= 2) {
    if (t < step) part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0) atomicAdd(total, part[0]);
}

__global__ void shuffles(const int* in, int* total, int n) {
  __shared__ int of_warp[kThreads / 32];
  int t = threadIdx.x, i = blockIdx.x * kThreads + t;
  int sum = i < n ? in[i] : 0;
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
  if (t % 32 == 0) of_warp[t / 32] = sum;
  __syncthreads();
  if (t == 0) {
    sum = 0;
    for (int w = 0; w < kThreads / 32; ++w) sum += of_warp[w];
    atomicAdd(total, sum);
  }
}

int main() {
  const int n = 3000, blocks = (n + kThreads - 1) / kThreads;
  std::vector<int> in(n);
  int expected = 0;
  for (int i = 0; i < n; ++i) expected += in[i] = i % 100;
  int *device_in, *device_total, wrong = 0;
  cudaMalloc(&device_in, n * sizeof(int));
  cudaMalloc(&device_total, sizeof(int));
  cudaMemcpy(device_in, in.data(), n * sizeof(int), cudaMemcpyHostToDevice);

  void (*kernels[])(const int*, int*, int) = {interleaved, sequential, shuffles};
  const char* names[] = {"interleaved", "sequential", "shuffles"};
  for (int k = 0; k < 3; ++k) {
    int total = 0;
    cudaMemset(device_total, 0, sizeof(int));
    kernels[k]<<<blocks, kThreads>>>(device_in, device_total, n);
    cudaMemcpy(&total, device_total, sizeof(int), cudaMemcpyDeviceToHost);
    printf("%s: %d, expected %d\n", names[k], total, expected);
    wrong += total != expected;
  }
  cudaFree(device_in);
  cudaFree(device_total);
  return wrong;
}

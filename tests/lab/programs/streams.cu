// SPDX-License-Identifier: MIT
// Four streams with pinned memory: copy in, compute, copy out, each on its own part.
// prints: 4 streams of 256 numbers: 0 wrong
#include <cassert>
#include <cstdio>

__global__ void kernel(float *a, int offset) {
  int i = offset + threadIdx.x + blockIdx.x * blockDim.x;
  float x = (float)i;
  a[i] = a[i] + x * x;
}

inline cudaError_t checkCuda(cudaError_t result) {
  if (result != cudaSuccess) {
    fprintf(stderr, "CUDA Runtime Error: %s\n", cudaGetErrorString(result));
    assert(result == cudaSuccess);
  }
  return result;
}

int main() {
  const int blockSize = 64, nStreams = 4, n = nStreams * 256;
  const int streamSize = n / nStreams, streamBytes = streamSize * sizeof(float);
  float *a, *d_a;
  checkCuda(cudaMallocHost((void **)&a, n * sizeof(float)));
  checkCuda(cudaMalloc((void **)&d_a, n * sizeof(float)));
  for (int i = 0; i < n; ++i) a[i] = 1;
  cudaStream_t stream[nStreams];
  cudaEvent_t done[nStreams];
  for (int i = 0; i < nStreams; ++i) {
    checkCuda(cudaStreamCreate(&stream[i]));
    checkCuda(cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming));
  }
  for (int i = 0; i < nStreams; ++i) {
    int offset = i * streamSize;
    checkCuda(cudaMemcpyAsync(&d_a[offset], &a[offset], streamBytes,
                              cudaMemcpyHostToDevice, stream[i]));
    kernel<<<streamSize / blockSize, blockSize, 0, stream[i]>>>(d_a, offset);
    checkCuda(cudaMemcpyAsync(&a[offset], &d_a[offset], streamBytes, cudaMemcpyDeviceToHost,
                              stream[i]));
    checkCuda(cudaEventRecord(done[i], stream[i]));
    checkCuda(cudaStreamWaitEvent(stream[(i + 1) % nStreams], done[i], 0));
  }
  for (int i = 0; i < nStreams; ++i) checkCuda(cudaStreamSynchronize(stream[i]));
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += a[i] != 1.0f + (float)i * (float)i;
  printf("%d streams of %d numbers: %d wrong\n", nStreams, streamSize, wrong);
  for (int i = 0; i < nStreams; ++i) {
    checkCuda(cudaStreamDestroy(stream[i]));
    checkCuda(cudaEventDestroy(done[i]));
  }
  cudaFree(d_a);
  cudaFreeHost(a);
  return wrong;
}

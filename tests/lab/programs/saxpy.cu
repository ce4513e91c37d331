// SPDX-License-Identifier: MIT
// y = a x + y with a grid-stride loop, timed by events.
// prints: saxpy of 10000: 0 wrong
#include <cstdio>
#include <cstdlib>

#define CUDA_CHECK(call)                                                            \
  {                                                                                 \
    const cudaError_t error = call;                                                 \
    if (error != cudaSuccess) {                                                     \
      printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));         \
      exit(EXIT_FAILURE);                                                           \
    }                                                                               \
  }

__global__ void saxpy(int n, float a, const float* __restrict__ x, float* __restrict__ y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    y[i] = a * x[i] + y[i];
  }
}

int main(void) {
  const int n = 10000;
  float* x = (float*)malloc(n * sizeof(float));
  float* y = (float*)malloc(n * sizeof(float));
  for (int i = 0; i < n; i++) {
    x[i] = (float)(i % 100);
    y[i] = 1.0f;
  }
  float *d_x, *d_y;
  CUDA_CHECK(cudaMalloc((void**)&d_x, n * sizeof(float)));
  CUDA_CHECK(cudaMalloc((void**)&d_y, n * sizeof(float)));
  CUDA_CHECK(cudaMemcpy(d_x, x, n * sizeof(float), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(d_y, y, n * sizeof(float), cudaMemcpyHostToDevice));

  cudaEvent_t start, stop;
  CUDA_CHECK(cudaEventCreate(&start));
  CUDA_CHECK(cudaEventCreate(&stop));
  CUDA_CHECK(cudaEventRecord(start));
  saxpy<<<8, 256>>>(n, 2.0f, d_x, d_y);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaEventRecord(stop));
  CUDA_CHECK(cudaEventSynchronize(stop));
  float milliseconds = -1;
  CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
  if (!(milliseconds > 0)) printf("no time has passed\n");

  CUDA_CHECK(cudaMemcpy(y, d_y, n * sizeof(float), cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < n; i++) wrong += y[i] != 2.0f * (i % 100) + 1.0f;
  printf("saxpy of %d: %d wrong\n", n, wrong);
  CUDA_CHECK(cudaEventDestroy(start));
  CUDA_CHECK(cudaEventDestroy(stop));
  CUDA_CHECK(cudaFree(d_x));
  CUDA_CHECK(cudaFree(d_y));
  free(x);
  free(y);
  return wrong != 0;
}

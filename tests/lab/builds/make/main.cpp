#include <cuda_runtime.h>

#include <cstdio>

#include "squares.h"

#ifdef __CUDACC__
#error "g++ is no compiler of CUDA"
#endif

extern "C" float sum_of(const float* numbers, int n);

int main() {
  float host[40], *device;
  for (int i = 0; i < 40; ++i) host[i] = static_cast<float>(i);
  cudaMalloc(&device, sizeof host);
  cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);
  launch_squares(device, 40);
  cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(device);
  std::printf("%g\n", sum_of(host, 40));
  return cudaDeviceReset();
}

// expect: 16: device pointer: host code reads byte 4 of a device allocation of 400 bytes
// The host reads device memory.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void fill(int* x) {
  x[threadIdx.x] = threadIdx.x;
}

int main() {
  int* x;
  cudaMalloc(&x, 100 * sizeof(int));
  fill<<<1, 100>>>(x);
  cudaDeviceSynchronize();
  std::printf("%d\n", x[1]);
}

// expect: 8: uninitialised read: kernel twice, .* byte 8 of a device allocation of 400 bytes
// cudaMemcpy copies as many bytes as the pointer has, not the array.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void twice(int* x) {
  x[threadIdx.x] *= 2;
}

int main() {
  int* host = new int[100];
  for (int i = 0; i < 100; ++i) host[i] = i;
  int* x;
  cudaMalloc(&x, 100 * sizeof(int));
  cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
  twice<<<1, 100>>>(x);
  cudaDeviceSynchronize();
  delete[] host;
}

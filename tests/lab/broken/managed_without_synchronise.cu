// expect: 15: not synchronised: host code reads byte 0 of managed memory of 400 bytes, .*kernel fill, launched at
// Managed memory is read while the kernel may still run.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void fill(int* x) {
  x[threadIdx.x] = threadIdx.x;
}

int main() {
  int* x;
  cudaMallocManaged(&x, 100 * sizeof(int));
  fill<<<1, 100>>>(x);
  std::printf("%d\n", x[0]);
  cudaFree(x);
}

// expect: 8: host pointer: kernel twice, .* reads 4 bytes
// The kernel is given the array of the host.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void twice(int* x) {
  x[threadIdx.x] *= 2;
}

int main() {
  int* host = static_cast<int*>(std::malloc(100 * sizeof(int)));
  for (int i = 0; i < 100; ++i) host[i] = i;
  twice<<<1, 100>>>(host);
  cudaDeviceSynchronize();
  std::printf("%d\n", host[1]);
}

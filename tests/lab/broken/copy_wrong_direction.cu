// expect: 16: wrong direction: cudaMemcpy at .*: cudaMemcpyHostToDevice, but the
// The result is copied with the direction of the input.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void fill(int* x) {
  x[threadIdx.x] = threadIdx.x;
}

int main() {
  std::vector<int> host(100);
  int* x;
  cudaMalloc(&x, 100 * sizeof(int));
  fill<<<1, 100>>>(x);
  cudaMemcpy(host.data(), x, 100 * sizeof(int), cudaMemcpyHostToDevice);
  std::printf("%d\n", host[1]);
}

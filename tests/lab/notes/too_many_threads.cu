// note: 17: launch failed: kernel twice, launched at .* its blocks have 2048 threads, and 1024 is the most
// A block of 2048 threads.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void twice(int* x) {
  x[threadIdx.x] *= 2;
}

int main() {
  const int n = 2048;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  twice<<<1, 2048>>>(x);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

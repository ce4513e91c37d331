// note: 17: launch failed: kernel twice, launched at .* its grid has no blocks
// n / 1024 is 0.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void twice(int* x) {
  x[threadIdx.x] *= 2;
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  twice<<<n / 1024, 256>>>(x);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

// expect: 12: race: kernel sum, .* shared part
// A tree in shared memory without the barrier between its levels.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void sum(int* x) {
  __shared__ int part[256];
  part[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int step = 128; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
  }
  if (threadIdx.x == 0) x[0] = part[0];
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  sum<<<1, 256>>>(x);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

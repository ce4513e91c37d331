// expect: 14: race: kernel sum, .* shared part
// The last levels of a reduction rely on lockstep.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void sum(int* x) {
  __shared__ int part[64];
  part[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 32) {
    volatile int* place = part;
    place[threadIdx.x] += place[threadIdx.x + 32];
    place[threadIdx.x] += place[threadIdx.x + 16];
    if (threadIdx.x == 0) x[0] = place[0];
  }
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  sum<<<1, 64>>>(x);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

// expect: 9: deadlock: kernel locked, 
// A spin lock whose holder never frees it.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void locked(int* x, int* lock) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    x[0] += 1;
  }
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  int* lock;
  cudaMalloc(&lock, sizeof(int));
  cudaMemset(lock, 0, sizeof(int));
  locked<<<2, 32>>>(x, lock);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

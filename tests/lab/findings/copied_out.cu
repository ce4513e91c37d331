// What nobody has written is copied to the host.
// flags:
// finding: unwritten 16 1
// flags: --allow unwritten
// exit: 0
// note: unwritten 16 1
// prints: 1
#include <cstdio>

__global__ void half(int* x) { x[threadIdx.x] = 1; }

int main() {
  int host[64], *x;
  cudaMalloc(&x, sizeof host);
  half<<<1, 32>>>(x);
  cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[31]);
}

// Mistakes of host code: the calls do nothing and return errors.
// flags: --stop never
// finding: wrong-size 33 1
// finding: no-kernel 28 1
// note: launch-failed 37 1
// finding: wrong-free 41 1
// prints: cudaErrorInvalidValue
// prints: cudaErrorInvalidDeviceFunction
// prints: cudaErrorInvalidConfiguration
// prints: 1
// prints: cudaErrorInvalidValue
// flags:
// finding: wrong-size 33 1
// flags: --stop never --strict
// finding: wrong-size 33 1
// finding: no-kernel 28 1
// finding: launch-failed 37 1
// finding: wrong-free 41 1
// prints: cudaErrorInvalidValue
// prints: cudaErrorInvalidDeviceFunction
// prints: cudaErrorInvalidConfiguration
// prints: 1
// prints: cudaErrorInvalidValue
#include <cstdio>

__global__ void k(int* x) { x[threadIdx.x] = 1; }
void helper(int*) {}
void start(void (*kernel)(int*), int* x) { kernel<<<1, 32>>>(x); }

int main() {
  int host[64] = {}, *x;
  cudaMalloc(&x, 128);
  std::printf("%s\n", cudaGetErrorName(cudaMemcpy(x, host, 256, cudaMemcpyHostToDevice)));
  start(helper, x);
  std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  k<<<1, 32>>>(x);
  k<<<1, 2000>>>(x);
  std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  cudaMemcpy(host, x, 128, cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[31]);
  std::printf("%s\n", cudaGetErrorName(cudaFree(x + 1)));
}

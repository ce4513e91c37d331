// expect: 11: wrong size: cudaMemcpy at .*: 400 bytes, but the target is at byte 0 of a device allocation of 100 bytes
// More bytes are copied than the allocation has.
#include <cstdio>
#include <cstdlib>
#include <vector>

int main() {
  std::vector<int> host(100, 1);
  int* x;
  cudaMalloc(&x, 100);
  cudaMemcpy(x, host.data(), 100 * sizeof(int), cudaMemcpyHostToDevice);
  cudaFree(x);
}

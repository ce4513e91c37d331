// expect: 8: misaligned: kernel copy, .* reads 16 bytes
// A float4 load from an address that is no multiple of 16.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void copy(int* x) {
  const int4 four = *reinterpret_cast<const int4*>(x + 1);
  x[0] = four.x + four.y + four.z + four.w;
}

int main() {
  const int n = 256;
  std::vector<int> host(n, 1);
  int* x;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  copy<<<1, 1>>>(x);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(x);
}

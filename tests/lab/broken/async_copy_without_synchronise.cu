// expect: 19: not synchronised: host code reads byte 0 of pinned memory of 400 bytes, .*cudaMemcpyAsync at
// The host reads the target of an asynchronous copy.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void fill(int* x) {
  x[threadIdx.x] = threadIdx.x;
}

int main() {
  int *x, *host;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMalloc(&x, 100 * sizeof(int));
  cudaMallocHost(&host, 100 * sizeof(int));
  fill<<<1, 100, 0, stream>>>(x);
  cudaMemcpyAsync(host, x, 100 * sizeof(int), cudaMemcpyDeviceToHost, stream);
  std::printf("%d\n", host[0]);
  cudaStreamSynchronize(stream);
}

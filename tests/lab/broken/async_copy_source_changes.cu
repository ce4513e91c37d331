// expect: 14: not synchronised: host code writes byte 40 of pinned memory of 400 bytes.*cudaMemcpyAsync at .*:12 may still run
// The host changes what an asynchronous copy may still read.
#include <cstdio>

int main() {
  int *host, *device;
  cudaStream_t stream;
  cudaMallocHost(&host, 400);
  cudaMalloc(&device, 400);
  cudaStreamCreate(&stream);
  for (int i = 0; i < 100; ++i) host[i] = i;
  cudaMemcpyAsync(device, host, 200, cudaMemcpyHostToDevice, stream);
  host[60] = host[10];
  host[10] = 0;
  cudaStreamSynchronize(stream);
  std::printf("%d\n", host[60]);
  cudaStreamDestroy(stream);
  cudaFree(device);
  cudaFreeHost(host);
}

// note: 9: unordered: kernel sum, block \(0, 0, 0\), thread .* with no barrier between.* __syncwarp\(\)
// The lanes of a warp rely on being in step. Here they are, as they most often are on a GPU.
#include <cstdio>

__global__ void sum(volatile int* data) {
  const unsigned lane = threadIdx.x;
  if (lane < 32) {
    data[lane] += data[lane + 32];
    data[lane] += data[lane + 16];
    __syncwarp();
    data[lane] += data[lane + 8];
    __syncwarp();
    data[lane] += data[lane + 4];
    __syncwarp();
    data[lane] += data[lane + 2];
    __syncwarp();
    data[lane] += data[lane + 1];
  }
}

int main() {
  int host[64], *data;
  for (int i = 0; i < 64; ++i) host[i] = i;
  cudaMalloc(&data, sizeof host);
  cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice);
  sum<<<1, 64>>>(data);
  cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(data);
  return host[0] == 2016 ? 0 : 1;
}

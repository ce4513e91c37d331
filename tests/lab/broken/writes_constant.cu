// expect: 11: constant memory: kernel normalise, .* writes 4 bytes at byte [0-9]+ of __constant__ weights
// A kernel writes to constant memory.
#include <cstdio>
#include <cstdlib>
#include <vector>

__constant__ float weights[4];

__global__ void normalise(float sum) {
  float* place = weights;
  place[threadIdx.x] /= sum;
}

int main() {
  const float host[4] = {1, 2, 3, 4};
  cudaMemcpyToSymbol(weights, host, sizeof host);
  normalise<<<1, 4>>>(10);
  cudaDeviceSynchronize();
}

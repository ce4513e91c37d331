// expect: 14: race: kernel multiply, .* shared (a|b)Tile
// Tiled matrix product without the barrier behind the product of two tiles.
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int kTile = 8, kN = 32;

__global__ void multiply(float* c, const float* a, const float* b) {
  __shared__ float aTile[kTile][kTile], bTile[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < kN / kTile; ++t) {
    aTile[threadIdx.y][threadIdx.x] = a[row * kN + t * kTile + threadIdx.x];
    bTile[threadIdx.y][threadIdx.x] = b[(t * kTile + threadIdx.y) * kN + column];
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += aTile[threadIdx.y][k] * bTile[k][threadIdx.x];
  }
  c[row * kN + column] = sum;
}

int main() {
  std::vector<float> host(kN * kN, 1);
  const size_t bytes = host.size() * sizeof(float);
  float *a, *b, *c;
  cudaMalloc(&a, bytes);
  cudaMalloc(&b, bytes);
  cudaMalloc(&c, bytes);
  cudaMemcpy(a, host.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(b, host.data(), bytes, cudaMemcpyHostToDevice);
  multiply<<<dim3(kN / kTile, kN / kTile), dim3(kTile, kTile)>>>(c, a, b);
  cudaMemcpy(host.data(), c, bytes, cudaMemcpyDeviceToHost);
  std::printf("%g\n", host[0]);
}

// SPDX-License-Identifier: MIT
// C = A B with tiles in shared memory, of any shape, by a template.
// prints: tile 8: 0 wrong
// prints: tile 16: 0 wrong
#include <cstdio>
#include <vector>

template <int TILE>
__global__ void gemm_tiled(const float* A, const float* B, float* C, int n) {
  __shared__ float As[TILE][TILE];
  __shared__ float Bs[TILE][TILE + 1];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
  float sum = 0;
  for (int t = 0; t < (n + TILE - 1) / TILE; ++t) {
    As[ty][tx] = row < n && t * TILE + tx < n ? A[row * n + t * TILE + tx] : 0.0f;
    Bs[ty][tx] = col < n && t * TILE + ty < n ? B[(t * TILE + ty) * n + col] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE; ++k) sum += As[ty][k] * Bs[k][tx];
    __syncthreads();
  }
  if (row < n && col < n) C[row * n + col] = sum;
}

template <int TILE>
int test(int n) {
  std::vector<float> a(n * n), b(n * n), c(n * n, -1);
  for (int i = 0; i < n * n; ++i) {
    a[i] = i % 9;
    b[i] = i % 4;
  }
  size_t bytes = n * n * sizeof(float);
  float *d_a, *d_b, *d_c;
  cudaMalloc(&d_a, bytes);
  cudaMalloc(&d_b, bytes);
  cudaMalloc(&d_c, bytes);
  cudaMemcpy(d_a, a.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(d_b, b.data(), bytes, cudaMemcpyHostToDevice);
  dim3 threads(TILE, TILE), blocks((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
  gemm_tiled<TILE><<<blocks, threads>>>(d_a, d_b, d_c, n);
  cudaMemcpy(c.data(), d_c, bytes, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      wrong += sum != c[i * n + j];
    }
  }
  cudaFree(d_a);
  cudaFree(d_b);
  cudaFree(d_c);
  printf("tile %d: %d wrong\n", TILE, wrong);
  return wrong;
}

int main() {
  return test<8>(45) + test<16>(45) != 0;
}

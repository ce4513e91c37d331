// SPDX-License-Identifier: MIT
// C = A B, one thread for an element of C, in blocks of two dimensions.
// prints: gemm 65 x 70 x 50: largest error 0
#include <cmath>
#include <cstdio>
#include <vector>

__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || col >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = sum;
}

int main() {
  const int M = 65, N = 70, K = 50;
  std::vector<float> A(M * K), B(K * N), C(M * N);
  for (size_t i = 0; i < A.size(); ++i) A[i] = (float)(i % 7) - 3;
  for (size_t i = 0; i < B.size(); ++i) B[i] = (float)(i % 5) - 2;
  float *dA, *dB, *dC;
  cudaMalloc(&dA, A.size() * sizeof(float));
  cudaMalloc(&dB, B.size() * sizeof(float));
  cudaMalloc(&dC, C.size() * sizeof(float));
  cudaMemcpy(dA, A.data(), A.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(dB, B.data(), B.size() * sizeof(float), cudaMemcpyHostToDevice);
  dim3 block(16, 16);
  dim3 grid((N + block.x - 1) / block.x, (M + block.y - 1) / block.y);
  gemm<<<grid, block>>>(dA, dB, dC, M, N, K);
  cudaMemcpy(C.data(), dC, C.size() * sizeof(float), cudaMemcpyDeviceToHost);
  double largest = 0;
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      double sum = 0;
      for (int k = 0; k < K; ++k) sum += A[i * K + k] * B[k * N + j];
      largest = fmax(largest, fabs(sum - C[i * N + j]));
    }
  }
  printf("gemm %d x %d x %d: largest error %g\n", M, N, K, largest);
  cudaFree(dA);
  cudaFree(dB);
  cudaFree(dC);
  return largest != 0;
}

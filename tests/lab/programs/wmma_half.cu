// SPDX-License-Identifier: MIT
// 16 x 16 x 16 products of half on tensor cores, summed in float.
// prints: wmma 32 x 32 x 48: 0 wrong
#include <cuda_fp16.h>
#include <mma.h>

#include <cstdio>
#include <vector>

using namespace nvcuda;

__global__ void wmma_gemm(const half *a, const half *b, float *c, int M, int N, int K) {
  int warpM = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize;
  int warpN = blockIdx.y * blockDim.y + threadIdx.y;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a_frag;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b_frag;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc_frag;
  wmma::fill_fragment(acc_frag, 0.0f);
  for (int i = 0; i < K; i += 16) {
    wmma::load_matrix_sync(a_frag, a + warpM * 16 * K + i, K);
    wmma::load_matrix_sync(b_frag, b + warpN * 16 * K + i, K);
    wmma::mma_sync(acc_frag, a_frag, b_frag, acc_frag);
  }
  for (int t = 0; t < acc_frag.num_elements; t++) acc_frag.x[t] *= 2.0f;
  wmma::store_matrix_sync(c + warpM * 16 * N + warpN * 16, acc_frag, N, wmma::mem_row_major);
}

int main() {
  const int M = 32, N = 32, K = 48;
  std::vector<half> a(M * K), b(N * K);
  std::vector<float> c(M * N);
  for (int i = 0; i < M * K; ++i) a[i] = __float2half(i % 5 - 2.0f);
  for (int i = 0; i < N * K; ++i) b[i] = __float2half(i % 7 * 0.5f);
  half *d_a, *d_b;
  float *d_c;
  cudaMalloc(&d_a, a.size() * sizeof(half));
  cudaMalloc(&d_b, b.size() * sizeof(half));
  cudaMalloc(&d_c, c.size() * sizeof(float));
  cudaMemcpy(d_a, a.data(), a.size() * sizeof(half), cudaMemcpyHostToDevice);
  cudaMemcpy(d_b, b.data(), b.size() * sizeof(half), cudaMemcpyHostToDevice);
  wmma_gemm<<<dim3(1, 2), dim3(64, 1)>>>(d_a, d_b, d_c, M, N, K);
  cudaMemcpy(c.data(), d_c, c.size() * sizeof(float), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      float sum = 0;
      for (int k = 0; k < K; ++k) sum += __half2float(a[i * K + k]) * __half2float(b[j * K + k]);
      wrong += c[i * N + j] != 2 * sum;
    }
  }
  printf("wmma %d x %d x %d: %d wrong\n", M, N, K, wrong);
  cudaFree(d_a);
  cudaFree(d_b);
  cudaFree(d_c);
  return wrong;
}

// SPDX-License-Identifier: MIT
// Inclusive prefix sums of one block, by Hillis and Steele with two buffers and by Kogge and Stone.
// prints: hillis_steele: 0 wrong
// prints: kogge_stone: 0 wrong
#include <cstdio>

#define N 256

__global__ void hillis_steele(int* out, const int* in, int n) {
  extern __shared__ int temp[];
  int i = threadIdx.x, pout = 0, pin = 1;
  temp[i] = in[i];
  __syncthreads();
  for (int offset = 1; offset < n; offset *= 2) {
    pout = 1 - pout;
    pin = 1 - pout;
    if (i >= offset)
      temp[pout * n + i] = temp[pin * n + i] + temp[pin * n + i - offset];
    else
      temp[pout * n + i] = temp[pin * n + i];
    __syncthreads();
  }
  out[i] = temp[pout * n + i];
}

__global__ void kogge_stone(int* out, const int* in) {
  __shared__ int sums[N];
  const int i = threadIdx.x;
  sums[i] = in[i];
  for (int stride = 1; stride < N; stride *= 2) {
    __syncthreads();
    int before = 0;
    if (i >= stride) before = sums[i - stride];
    __syncthreads();
    if (i >= stride) sums[i] += before;
  }
  out[i] = sums[i];
}

static int check(const char* name, const int* d_out, const int* in) {
  int out[N], sum = 0, wrong = 0;
  cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost);
  for (int i = 0; i < N; i++) {
    sum += in[i];
    if (out[i] != sum) wrong++;
  }
  printf("%s: %d wrong\n", name, wrong);
  return wrong;
}

int main() {
  int in[N], *d_in, *d_out;
  for (int i = 0; i < N; i++) in[i] = i % 13 - 5;
  cudaMalloc((void**)&d_in, sizeof in);
  cudaMalloc((void**)&d_out, sizeof in);
  cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice);
  hillis_steele<<<1, N, 2 * N * sizeof(int)>>>(d_out, d_in, N);
  int wrong = check("hillis_steele", d_out, in);
  kogge_stone<<<1, N>>>(d_out, d_in);
  wrong += check("kogge_stone", d_out, in);
  cudaFree(d_in);
  cudaFree(d_out);
  return wrong;
}

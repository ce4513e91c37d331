// A kernel with a finding would run for minutes: the program ends before.
// flags: --check 1
// finding: out-of-bounds 8 1
#include <cstdio>

__global__ void slow(const float* x, float* out, int steps) {
  float sum = threadIdx.x;
  if (blockIdx.x == 0 && threadIdx.x == 0) sum += x[64];
  for (int i = 0; i < steps; ++i) sum += x[(threadIdx.x + i) % 64];
  out[threadIdx.x] = sum;
}

int main() {
  float *x, *out;
  cudaMalloc(&x, 64 * sizeof(float));
  cudaMalloc(&out, 64 * sizeof(float));
  cudaMemset(x, 0, 64 * sizeof(float));
  slow<<<1, 64>>>(x, out, 100000000);
  cudaDeviceSynchronize();
  std::printf("not reached\n");
}

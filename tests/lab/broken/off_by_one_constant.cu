// expect: 11: out of bounds: kernel filter, .* (index 5 into an array|__constant__ weights)
// A filter of five weights is read as if it had six.
#include <cstdio>
#include <cstdlib>
#include <vector>

__constant__ float weights[5];

__global__ void filter(float* y, const float* x, int taps) {
  float sum = 0;
  for (int t = 0; t <= taps; ++t) sum += weights[t] * x[threadIdx.x + t];
  y[threadIdx.x] = sum;
}

int main() {
  const float host[5] = {1, 2, 3, 2, 1};
  std::vector<float> values(256, 1);
  float *x, *y;
  cudaMalloc(&x, 256 * sizeof(float));
  cudaMalloc(&y, 256 * sizeof(float));
  cudaMemcpy(x, values.data(), 256 * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(weights, host, sizeof host);
  filter<<<1, 128>>>(y, x, 5);
  cudaMemcpy(values.data(), y, 128 * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("%g\n", values[0]);
}

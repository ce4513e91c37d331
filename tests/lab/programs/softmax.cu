// SPDX-License-Identifier: MIT
// Softmax of rows: a block for a row, the maximum and the sum in shared memory.
// prints: rows sum to 1, largest error below 1e-6
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <vector>

template <typename Op>
__device__ float block_reduce(float value, Op op) {
  extern __shared__ float scratch[];
  scratch[threadIdx.x] = value;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) scratch[threadIdx.x] = op(scratch[threadIdx.x], scratch[threadIdx.x + s]);
    __syncthreads();
  }
  float result = scratch[0];
  __syncthreads();
  return result;
}

struct Max {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};

__global__ void __launch_bounds__(64) softmax(const float* x, float* y, int columns) {
  const float* row = x + blockIdx.x * columns;
  float largest = -FLT_MAX;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) largest = fmaxf(largest, row[i]);
  largest = block_reduce(largest, Max());
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += __expf(row[i] - largest);
  sum = block_reduce(sum, Sum{});
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    y[blockIdx.x * columns + i] = __fdividef(__expf(row[i] - largest), sum);
  }
}

int main() {
  const int rows = 6, columns = 100;
  std::vector<float> x(rows * columns), y(rows * columns);
  for (int i = 0; i < rows * columns; ++i) x[i] = (i * 37 % 101) * 0.1f;
  float *d_x, *d_y;
  cudaMalloc(&d_x, x.size() * sizeof(float));
  cudaMalloc(&d_y, y.size() * sizeof(float));
  cudaMemcpy(d_x, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice);
  softmax<<<rows, 64, 64 * sizeof(float)>>>(d_x, d_y, columns);
  cudaMemcpy(y.data(), d_y, y.size() * sizeof(float), cudaMemcpyDeviceToHost);
  double error = 0;
  for (int r = 0; r < rows; ++r) {
    double all = 0, sum = 0;
    for (int c = 0; c < columns; ++c) all += exp((double)x[r * columns + c]);
    for (int c = 0; c < columns; ++c) {
      error = fmax(error, fabs(exp((double)x[r * columns + c]) / all - y[r * columns + c]));
      sum += y[r * columns + c];
    }
    error = fmax(error, fabs(sum - 1) / columns);
  }
  printf("rows sum to 1, largest error %s\n", error < 1e-6 ? "below 1e-6" : "too large");
  cudaFree(d_x);
  cudaFree(d_y);
  return !(error < 1e-6);
}

// SPDX-License-Identifier: MIT
// A sparse matrix in CSR times a vector: a thread for a row, and a warp for a row.
// prints: scalar: 0 wrong
// prints: vector: 0 wrong
#include <cstdio>
#include <vector>

struct CsrMatrix {
  int rows;
  const int* row_begin;
  const int* column;
  const double* value;
};

__global__ void spmv_scalar(CsrMatrix m, const double* x, double* y) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m.rows) return;
  double sum = 0;
  for (int i = m.row_begin[row]; i < m.row_begin[row + 1]; ++i) sum += m.value[i] * x[m.column[i]];
  y[row] = sum;
}

__global__ void spmv_vector(const CsrMatrix m, const double* x, double* y) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
  if (row >= m.rows) return;
  double sum = 0;
  for (int i = m.row_begin[row] + lane; i < m.row_begin[row + 1]; i += 32) {
    sum += m.value[i] * __ldg(&x[m.column[i]]);
  }
  for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(~0u, sum, offset);
  if (lane == 0) y[row] = sum;
}

template <class T>
T* on_device(const std::vector<T>& host) {
  T* device = nullptr;
  cudaMalloc(&device, host.size() * sizeof(T));
  cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
  return device;
}

int main() {
  const int n = 100;
  std::vector<int> begin{0}, column;
  std::vector<double> value, x(n), expected(n, 0.0), y(n);
  for (int i = 0; i < n; ++i) x[i] = i;
  for (int row = 0; row < n; ++row) {
    for (int c = row % 3; c < n; c += 1 + row % 11) {
      column.push_back(c);
      value.push_back(1 + c % 4);
      expected[row] += value.back() * x[c];
    }
    begin.push_back((int)column.size());
  }
  int *d_begin = on_device(begin), *d_column = on_device(column);
  double *d_value = on_device(value), *d_x = on_device(x), *d_y = on_device(y);
  const CsrMatrix m{n, d_begin, d_column, d_value};
  int all = 0;
  for (int kind = 0; kind < 2; ++kind) {
    if (kind == 0) {
      spmv_scalar<<<(n + 63) / 64, 64>>>(m, d_x, d_y);
    } else {
      spmv_vector<<<(n * 32 + 127) / 128, 128>>>(m, d_x, d_y);
    }
    cudaMemcpy(y.data(), d_y, n * sizeof(double), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += y[i] != expected[i];
    printf("%s: %d wrong\n", kind == 0 ? "scalar" : "vector", wrong);
    all += wrong;
  }
  for (void* p : {(void*)d_begin, (void*)d_column, (void*)d_value, (void*)d_x, (void*)d_y}) cudaFree(p);
  return all;
}

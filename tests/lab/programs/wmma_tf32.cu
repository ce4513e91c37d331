// A product of 16 x 16 x 8 on tensor cores in tf32, with the elements of its fragments by number.
// prints: 256 and 256 of 256 sums are right
#include <mma.h>

#include <cstdio>
#include <vector>

using namespace nvcuda;

template <class Layout>
__global__ void multiply(const float* a, const float* b, float* d, float alpha, bool by_columns) {
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, Layout> right;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum;
  wmma::fill_fragment(sum, 1.0f);
  wmma::load_matrix_sync(left, a, 8);
  wmma::load_matrix_sync(right, b, std::is_same_v<Layout, wmma::row_major> ? 16 : 8);
  for (int i = 0; i < left.num_elements; ++i) left.x[i] = wmma::__float_to_tf32(left.x[i]);
  for (int i = 0; i < right.num_elements; ++i) right.x[i] = wmma::__float_to_tf32(right.x[i]);
  wmma::mma_sync(sum, left, right, sum);
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = alpha * sum.x[i];
  wmma::store_matrix_sync(d, sum, 16, by_columns ? wmma::mem_col_major : wmma::mem_row_major);
}

int main() {
  std::vector<float> a(128), b(128), d(256);
  for (int i = 0; i < 128; ++i) a[i] = i % 7 - 3, b[i] = i % 5 - 2;
  float *device_a, *device_b, *device_d;
  cudaMalloc(&device_a, 512);
  cudaMalloc(&device_b, 512);
  cudaMalloc(&device_d, 1024);
  cudaMemcpy(device_a, a.data(), 512, cudaMemcpyHostToDevice);
  cudaMemcpy(device_b, b.data(), 512, cudaMemcpyHostToDevice);
  int right[2] = {};
  for (int by_columns = 0; by_columns < 2; ++by_columns) {
    if (by_columns == 0) multiply<wmma::row_major><<<1, 32>>>(device_a, device_b, device_d, 0.5f, by_columns);
    if (by_columns == 1) multiply<wmma::col_major><<<1, 32>>>(device_a, device_b, device_d, 0.5f, by_columns);
    cudaMemcpy(d.data(), device_d, 1024, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 256; ++i) {
      float sum = 1;
      for (int k = 0; k < 8; ++k) sum += a[i / 16 * 8 + k] * b[by_columns ? i % 16 * 8 + k : k * 16 + i % 16];
      if (d[by_columns ? i % 16 * 16 + i / 16 : i] == 0.5f * sum) ++right[by_columns];
    }
  }
  printf("%d and %d of 256 sums are right\n", right[0], right[1]);
}

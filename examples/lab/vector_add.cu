// SPDX-License-Identifier: MIT
// The first CUDA program: c = a + b, one thread for each element.
//
//   ./run lab run examples/lab/vector_add.cu          on the CPU, every memory access checked
//   ./run lab run examples/lab/vector_add.cu 5000     with 5000 elements
//   nvcc examples/lab/vector_add.cu -o vector_add     on a GPU
//
// prints: 1000 sums in 4 blocks of 256 threads, 0 of them wrong
#include <cstdio>
#include <cstdlib>
#include <vector>

// The last block has threads that no element is left for: take the `if` away, and see.
__global__ void vector_add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

#define CHECK(call)                                                                 \
  do {                                                                              \
    cudaError_t code = (call);                                                      \
    if (code != cudaSuccess) {                                                      \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(code)); \
      exit(4);                                                                      \
    }                                                                               \
  } while (0)

int main(int argc, char** argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1000;
  size_t bytes = n * sizeof(float);
  std::vector<float> a(n), b(n), c(n);
  for (int i = 0; i < n; ++i) {
    a[i] = i;
    b[i] = 2 * i;
  }

  float *device_a, *device_b, *device_c;
  CHECK(cudaMalloc(&device_a, bytes));
  CHECK(cudaMalloc(&device_b, bytes));
  CHECK(cudaMalloc(&device_c, bytes));
  CHECK(cudaMemcpy(device_a, a.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(device_b, b.data(), bytes, cudaMemcpyHostToDevice));

  int threads = 256, blocks = (n + threads - 1) / threads;  // rounded up
  vector_add<<<blocks, threads>>>(device_a, device_b, device_c, n);
  CHECK(cudaGetLastError());       // could it start?
  CHECK(cudaDeviceSynchronize());  // did it end well?

  CHECK(cudaMemcpy(c.data(), device_c, bytes, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += c[i] != 3.0f * i;
  printf("%d sums in %d blocks of %d threads, %d of them wrong\n", n, blocks, threads, wrong);

  cudaFree(device_a);
  cudaFree(device_b);
  cudaFree(device_c);
  return wrong > 0;
}

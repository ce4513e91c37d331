// SPDX-License-Identifier: MIT
// The dot product, in double precision, with an atomicAdd of double made of atomicCAS.
// prints: dot product 328350
#include <cstdio>

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 0
__device__ double my_atomic_add(double* address, double val) {
  unsigned long long int* address_as_ull = (unsigned long long int*)address;
  unsigned long long int old = *address_as_ull, assumed;
  do {
    assumed = old;
    old = atomicCAS(address_as_ull, assumed,
                    __double_as_longlong(val + __longlong_as_double(assumed)));
  } while (assumed != old);
  return __longlong_as_double(old);
}
#endif

#define THREADS 32

__global__ void dot(const double *a, const double *b, double *c, int n) {
  __shared__ double cache[THREADS];
  int tid = threadIdx.x + blockIdx.x * blockDim.x;
  int cacheIndex = threadIdx.x;
  double temp = 0;
  while (tid < n) {
    temp += a[tid] * b[tid];
    tid += blockDim.x * gridDim.x;
  }
  cache[cacheIndex] = temp;
  __syncthreads();
  int i = blockDim.x / 2;
  while (i != 0) {
    if (cacheIndex < i) cache[cacheIndex] += cache[cacheIndex + i];
    __syncthreads();
    i /= 2;
  }
  if (cacheIndex == 0) my_atomic_add(c, cache[0]);
}

int main() {
  const int n = 100;
  double a[n], b[n], c = 0, *dev_a, *dev_b, *dev_c;
  for (int i = 0; i < n; i++) {
    a[i] = i;
    b[i] = i;
  }
  cudaMalloc((void **)&dev_a, sizeof(a));
  cudaMalloc((void **)&dev_b, sizeof(b));
  cudaMalloc((void **)&dev_c, sizeof(double));
  cudaMemcpy(dev_a, a, sizeof(a), cudaMemcpyHostToDevice);
  cudaMemcpy(dev_b, b, sizeof(b), cudaMemcpyHostToDevice);
  cudaMemcpy(dev_c, &c, sizeof(c), cudaMemcpyHostToDevice);
  dot<<<2, THREADS>>>(dev_a, dev_b, dev_c, n);
  cudaMemcpy(&c, dev_c, sizeof(c), cudaMemcpyDeviceToHost);
  printf("dot product %g\n", c);
  cudaFree(dev_a);
  cudaFree(dev_b);
  cudaFree(dev_c);
  return c != 328350;
}

// A program that measures bandwidth and never fills its input.
// flags:
// finding: uninitialised-read 12 32
// flags: --stop never
// finding: uninitialised-read 12 32
// prints: copied
// flags: --allow uninitialised-read
// exit: 0
// note: uninitialised-read 12 32
// prints: copied
#include <cstdio>
__global__ void copy(const float* a, float* b) { b[threadIdx.x] = a[threadIdx.x] + 1; }
int main() {
  float *a, *b;
  cudaMalloc(&a, 128); cudaMalloc(&b, 128);
  cudaEvent_t start, stop;
  cudaEventCreate(&start); cudaEventCreate(&stop);
  cudaEventRecord(start);
  copy<<<1, 32>>>(a, b);
  cudaEventRecord(stop); cudaEventSynchronize(stop);
  float ms; cudaEventElapsedTime(&ms, start, stop);
  printf("copied\n");
}

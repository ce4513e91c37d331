#include "squares.h"

__global__ void squares(float* numbers, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) numbers[i] *= numbers[i];
}

void launch_squares(float* numbers, int n) {
  squares<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(numbers, n);
}

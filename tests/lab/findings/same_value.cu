// Threads write one value to one word: a note.
// flags:
// exit: 0
// note: same-value 10 1
// prints: 0
// flags: --strict
// finding: same-value 10 1
#include <cstdio>
__global__ void relax(const int* x, int* done) {
  if (x[threadIdx.x] > 3) *done = 0;
}
int main() {
  int h[8] = {1, 2, 3, 4, 5, 6, 7, 8}, *x, *done, one = 1;
  cudaMalloc(&x, sizeof h); cudaMalloc(&done, 4);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemcpy(done, &one, 4, cudaMemcpyHostToDevice);
  relax<<<1, 8>>>(x, done);
  cudaMemcpy(&one, done, 4, cudaMemcpyDeviceToHost);
  printf("%d\n", one);
}

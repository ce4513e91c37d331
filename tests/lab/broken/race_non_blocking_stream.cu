// expect: 7: race: kernel twice, .* kernel twice, launched at race_non_blocking_stream.cu:17, writes it at race_non_blocking_stream.cu:7
// A non-blocking stream does not take turns with the default stream.
#include <cstdio>

__global__ void twice(int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
}

int main() {
  const int n = 128;
  int* x;
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaMalloc(&x, n * sizeof(int));
  cudaMemset(x, 0, n * sizeof(int));
  twice<<<1, n, 0, stream>>>(x, n);
  twice<<<1, n>>>(x, n);
  cudaDeviceSynchronize();
  cudaFree(x);
}

// expect: 12: race: kernel add, .* kernel fill, launched at race_between_streams.cu:23, writes it at race_between_streams.cu:8, and no stream, event or wait orders the two launches: this is kernel add, launched at race_between_streams.cu:24
// The second stream does not wait for the first.
#include <cstdio>
#include <vector>

__global__ void fill(int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = i;
}
__global__ void add(int* y, const int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + 1;
}

int main() {
  const int n = 256;
  int *x, *y;
  cudaStream_t first, second;
  cudaStreamCreate(&first);
  cudaStreamCreate(&second);
  cudaMalloc(&x, n * sizeof(int));
  cudaMalloc(&y, n * sizeof(int));
  fill<<<2, 128, 0, first>>>(x, n);
  add<<<2, 128, 0, second>>>(y, x, n);
  cudaDeviceSynchronize();
  std::vector<int> host(n);
  cudaMemcpy(host.data(), y, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[n - 1]);
  cudaFree(x);
  cudaFree(y);
}

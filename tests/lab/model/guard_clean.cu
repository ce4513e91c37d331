// clean
// The plain read that begins a loop of atomicCAS notices an old value by itself.
#include <cstdio>

__global__ void k(int* data) {
  int seen = data[0], expected;
  do {
    expected = seen;
    seen = atomicCAS(data, expected, expected + 1);
  } while (seen != expected);
}

int main() {
  int *data, out = 0;
  cudaMalloc(&data, 1024 * sizeof(int));
  cudaMemset(data, 0, 1024 * sizeof(int));
  k<<<1, 64>>>(data);
  cudaMemcpy(&out, data, sizeof out, cudaMemcpyDeviceToHost);
  std::printf("%d\n", out);
  cudaFree(data);
}

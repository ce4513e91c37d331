// expect: 7: race: kernel k, .* make both of them atomic
// A plain read decides whether an atomic operation is needed.
#include <cstdio>

__global__ void k(int* data) {
  const int mine = threadIdx.x;
  if (data[0] < mine) {
    atomicMax(data, mine);
  }
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

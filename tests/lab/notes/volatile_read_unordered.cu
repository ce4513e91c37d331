// note: 15: unordered: kernel publish, block \(1, 0, 0\).* nothing orders the two blocks
// A fence of the block's scope publishes to no other block, so the read may find the old value.
#include <cstdio>

__device__ int flag = 0;

__global__ void publish(volatile int* data, int* out) {
  if (blockIdx.x == 0) {
    data[0] = 42;
    __threadfence_block();
    atomicExch(&flag, 1);
  } else {
    while (atomicAdd(&flag, 0) == 0) {
    }
    out[0] = data[0];
  }
}

int main() {
  int *data, *out, got = 0;
  cudaMalloc(&data, sizeof(int));
  cudaMalloc(&out, sizeof(int));
  cudaMemset(data, 0, sizeof(int));
  publish<<<2, 1>>>(data, out);
  cudaMemcpy(&got, out, sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", got);
}

// What blocks without checks have written counts as written, also where it has the value of memory that nobody has written. A
// kernel that is checked may use it, in another stream, too.
// flags: --check 0
// note: unchecked 0 3
// prints: -524297 1024 1
// exit: 0
#include <cstdio>

const int n = 1024;
__global__ void fill(int* x, int value) {
  x[blockIdx.x * blockDim.x + threadIdx.x] = value;
}
__global__ void count(const int* x, int* sum, int* value) {
  if (x[blockIdx.x * blockDim.x + threadIdx.x] == 0xfff7fff7) atomicAdd(sum, 1);
  if (blockIdx.x == 0 && threadIdx.x == 0) *value = x[0];
}

int main() {
  int *x[5], *sum, host[3];
  cudaStream_t stream;
  cudaEvent_t event;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaEventCreate(&event);
  cudaMalloc(&sum, 2 * sizeof(int));
  cudaMemset(sum, 0, 2 * sizeof(int));
  for (int i = 0; i < 5; ++i) {
    cudaMalloc(&x[i], n * sizeof(int));
    fill<<<n / 64, 64, 0, stream>>>(x[i], 0xfff7fff7);
  }
  cudaEventRecord(event, stream);
  cudaStreamWaitEvent(0, event, 0);
  count<<<n / 64, 64>>>(x[4], sum, sum + 1);
  cudaMemcpy(host, sum, 2 * sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemcpy(host + 2, x[3], sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d %d %d\n", host[1], host[0], host[2] == host[1]);
}

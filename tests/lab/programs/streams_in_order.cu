// Launches of different streams that use the same memory, ordered in every way that CUDA has: by an
// event, by a wait of the host, by the default stream, by copies, and by callbacks of time.
//
// prints: by an event: 3
// prints: by the host: 4
// prints: by the default stream: 6
// prints: by an event of the host: 7
// prints: halves in two streams: 8
#include <cstdio>

__global__ void add(int* x, int first, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) x[first + i] += 1;
}

int main() {
  const int n = 256;
  int *x, host[n];
  cudaStream_t a, b;
  cudaEvent_t done;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  cudaMalloc(&x, sizeof host);
  cudaMemset(x, 0, sizeof host);

  add<<<2, 128>>>(x, 0, n);
  add<<<2, 128, 0, a>>>(x, 0, n);
  cudaEventRecord(done, a);
  cudaStreamWaitEvent(b, done, 0);
  add<<<2, 128, 0, b>>>(x, 0, n);
  cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
  printf("by an event: %d\n", host[n - 1]);

  cudaStreamSynchronize(b);
  add<<<2, 128, 0, a>>>(x, 0, n);
  cudaStreamSynchronize(a);
  cudaMemcpyAsync(host, x, sizeof host, cudaMemcpyDeviceToHost, b);
  cudaStreamSynchronize(b);
  printf("by the host: %d\n", host[n - 1]);

  add<<<2, 128>>>(x, 0, n);
  add<<<2, 128, 0, b>>>(x, 0, n);
  cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
  printf("by the default stream: %d\n", host[n - 1]);

  cudaEventRecord(done, b);
  cudaEventSynchronize(done);
  add<<<2, 128, 0, a>>>(x, 0, n);
  cudaDeviceSynchronize();
  cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
  printf("by an event of the host: %d\n", host[n - 1]);

  add<<<1, 128, 0, a>>>(x, 0, n / 2);
  add<<<1, 128, 0, b>>>(x, n / 2, n / 2);
  cudaDeviceSynchronize();
  cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
  printf("halves in two streams: %d\n", host[n - 1]);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
  cudaEventDestroy(done);
  cudaFree(x);
  return 0;
}

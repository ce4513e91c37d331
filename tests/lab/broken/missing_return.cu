// expect: 5: missing return: kernel counts, 
// A function of the device is still to be written: it returns nothing.
#include <cstdio>

__device__ int count(int p, volatile int* s) {
  if (p > 1) return s[0];
}

__global__ void counts(int* out, const int* in) {
  __shared__ int s[32];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  const int found = count(s[threadIdx.x], s);
  if (threadIdx.x == 0) *out = found;
}

int main() {
  int *in, *out, host[32];
  for (int i = 0; i < 32; ++i) host[i] = i % 2;
  cudaMalloc(&in, sizeof host);
  cudaMalloc(&out, sizeof(int));
  cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
  counts<<<1, 32>>>(out, in);
  cudaMemcpy(host, out, sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[0]);
  cudaFree(in);
  cudaFree(out);
}

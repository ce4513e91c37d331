// One block that runs for very long is checked in part. What it does then is right, and a late race is not found.
// flags: --check 0
// note: unchecked 0 1
// prints: 2016 40000
// exit: 0
// flags: --check all
// finding: race 24 58
#include <cstdio>

__global__ void runs(int* out, int steps) {
  __shared__ int tile[64];
  __shared__ int sum;
  const int t = threadIdx.x;
  tile[t] = 0;
  if (t == 0) sum = 0;
  __syncthreads();
  for (int i = 0; i < steps; ++i) tile[t] += i % 2 * 2;
  __syncthreads();
  const int of_warp = __reduce_add_sync(~0u, t);
  if (t % 32 == 0) atomicAdd(&sum, of_warp);
  __syncthreads();
  if (t == 0) out[0] = sum;
  if (t == 1) out[1] = tile[62];
  if (t == 2) tile[3] = 1;
  out[2 + t] = tile[3];
}

int main() {
  int *x, host[2];
  cudaMalloc(&x, 66 * sizeof(int));
  runs<<<1, 64>>>(x, 40000);
  cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%d %d\n", host[0], host[1]);
}

// The program's own memory, registered for the device, and groups of threads with one label.
//
// prints: 4 groups of 8 threads, sums 56 60 64 68
// prints: odd threads: 16, their first has rank 1 of 2 groups
#include <cooperative_groups.h>

#include <cstdio>
#include <cstdlib>

namespace cg = cooperative_groups;

__global__ void sums(const int* x, int* out) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  auto group = cg::labeled_partition(warp, threadIdx.x % 4);
  int sum = x[threadIdx.x];
  for (int step = group.size() / 2; step > 0; step /= 2) {
    const int other = group.shfl_down(sum, step);
    if (group.thread_rank() + step < group.size()) sum += other;
  }
  if (group.thread_rank() == 0) out[threadIdx.x % 4] = sum / 2;
  if (threadIdx.x == 0) out[4] = group.size();
  auto odd = cg::binary_partition(warp, threadIdx.x % 2 == 1);
  if (threadIdx.x == 1) {
    out[5] = odd.size();
    out[6] = odd.meta_group_rank();
    out[7] = odd.meta_group_size();
  }
}

int main() {
  int* x = (int*)malloc(32 * sizeof(int));
  int *device, *out, host[8];
  for (int i = 0; i < 32; ++i) x[i] = i - 2 + 2;
  if (cudaHostRegister(x, 32 * sizeof(int), cudaHostRegisterMapped) != cudaSuccess) return 1;
  if (cudaHostGetDevicePointer((void**)&device, x, 0) != cudaSuccess) return 1;
  cudaMalloc(&out, sizeof host);
  sums<<<1, 32>>>(device, out);
  cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
  if (cudaHostUnregister(x) != cudaSuccess) return 1;
  printf("4 groups of %d threads, sums %d %d %d %d\n", host[4], host[0], host[1], host[2], host[3]);
  printf("odd threads: %d, their first has rank %d of %d groups\n", host[5], host[6], host[7]);
  cudaFree(out);
  free(x);
  return 0;
}

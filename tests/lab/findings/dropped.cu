// Bad accesses are not made: neighbours, constants and memory of the host keep their values, and bad
// reads give 0.
// flags: --stop never
// finding: out-of-bounds 29 1
// finding: out-of-bounds 31 1
// finding: host-pointer 32 2
// finding: constant-memory 33 1
// finding: out-of-bounds 34 2
// finding: host-pointer 35 1
// finding: host-pointer 36 1
// finding: out-of-bounds 36 1
// finding: null-pointer 39 1
// note: unread-error 52 1
// prints: 18 0 1 2 3, 1 2 3 4
#include <cstdio>
#include <cstdlib>

struct Pair {
  float4 a, b;
};
__constant__ int factor = 3;

__global__ void wild(int* x, int* host, Pair* pairs, int n) {
  extern __shared__ int tile[];
  __shared__ int own[4];
  if (threadIdx.x == 0) {
    own[0] = 7;
    tile[0] = 8;
    tile[n] = 1;
    int* before = tile - 1;
    *before = 2;
    host[0] *= 2;
    const_cast<int&>(factor) = 9;
    pairs[n] = pairs[2 * n];
    atomicAdd(&host[1], 1);
    x[0] = own[0] + tile[0] + factor + host[2] + x[1000 * n];
  }
  __syncthreads();
  if (threadIdx.x == 1) *(volatile int*)nullptr = 1;
  x[1 + threadIdx.x] = threadIdx.x;
}

int main() {
  int h[4] = {1, 2, 3, 4}, out[5] = {}, *x;
  Pair* pairs;
  cudaMalloc(&x, sizeof out);
  cudaMalloc(&pairs, sizeof(Pair));
  cudaMemcpy(x, out, sizeof out, cudaMemcpyHostToDevice);
  int* heap = static_cast<int*>(std::malloc(sizeof h));
  for (int i = 0; i < 4; ++i) heap[i] = h[i];
  wild<<<1, 4, 16>>>(x, heap, pairs, 4);
  cudaMemcpy(out, x, sizeof out, cudaMemcpyDeviceToHost);
  std::printf("%d %d %d %d %d, %d %d %d %d\n", out[0], out[1], out[2], out[3], out[4], heap[0], heap[1], heap[2],
              heap[3]);
  std::free(heap);
}

// An access to where no memory is, in a block without checks: in a later launch, by a null pointer, and behind the first blocks
// of a launch. What is no memory of the array, but has some of its pages behind it, is found by checks only.
// flags: --check 0 --stop never
// note: unchecked 0 2
// finding: out-of-bounds 28 1
// note: unchecked 0 2
// note: unchecked 0 2
// finding: null-pointer 28 1
// finding: out-of-bounds 28 1
// note: unchecked 0 1
// prints: cudaErrorIllegalAddress
// flags: --check 0
// note: unchecked 0 2
// finding: out-of-bounds 28 1
// note: unchecked 0 1
// flags: --check all --stop never
// finding: out-of-bounds 28 1
// finding: out-of-bounds 28 64
// finding: null-pointer 28 64
// finding: out-of-bounds 28 3200
// prints: cudaErrorIllegalAddress
#include <cstdio>

enum What { near, far, null, blocks };

template <What>
__global__ void set(int* x, int at, int from) {
  if ((int)blockIdx.x >= from) x[threadIdx.x + at] = threadIdx.x;
}

int main() {
  int* x;
  cudaMalloc(&x, 64 * sizeof(int));
  for (int i = 0; i < 4; ++i) set<near><<<1, 64>>>(x, i == 3 ? 1 : 0, 0);
  for (int i = 0; i < 4; ++i) set<far><<<1, 64>>>(x, i == 2 ? 1 << 20 : 0, 0);
  for (int i = 0; i < 4; ++i) set<null><<<1, 64>>>(i == 3 ? nullptr : x, 0, 0);
  set<blocks><<<100, 64>>>(x, 1 << 20, 50);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}

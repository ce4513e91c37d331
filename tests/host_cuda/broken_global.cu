// SPDX-License-Identifier: MIT
// Mistakes with global and constant memory and __device__ variables, and what looks like one.
#include "tests/host_cuda/broken_global.h"

#include <cooperative_groups.h>

#include <map>

#include "engine/launch.h"

namespace weft::test {

namespace {

__device__ int global_index() {
  return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}

__global__ void plain_counts(int* x, int*) {
  x[global_index() % 16] += 1;
}

__global__ void neighbour_in_place(int* x, int*) {
  const int i = static_cast<int>(threadIdx.x);
  if (i + 1 < kGlobalThreads && blockIdx.x == 0) {
    const int next = x[i + 1];
    x[i] = next;
  }
}

__global__ void plain_beside_atomic(int* x, int*) {
  if (threadIdx.x == 0) atomicAdd(x, 1);
  if (threadIdx.x == 1 && blockIdx.x == 2) x[1] = x[0];
}

// As CUDA's guide adds doubles: the plain read may be old, and then the exchange fails.
__global__ void compare_and_swap(int* x, int*) {
  int seen = *x, expected;
  do {
    expected = seen;
    seen = atomicCAS(x, expected, expected + 1);
  } while (seen != expected);
}

__device__ int total;
__global__ void device_variable(int* x, int*) {
  total += x[threadIdx.x];
}

__device__ int totals[kGlobalBlocks];
__global__ void device_array(int* x, int* y) {
  if (threadIdx.x == 0) totals[blockIdx.x] = x[blockIdx.x];
  __syncthreads();
  y[global_index()] = totals[blockIdx.x];
}
__global__ void past_a_device_array(int* x, int*) {
  int* place = totals;
  if (threadIdx.x == 0) place[blockIdx.x + x[1]] = 1;
}

// The last block to be done adds what all blocks have written.
template <bool kFence, bool kBarrier>
__device__ void last_block(int* x, int* y) {
  __shared__ bool last;
  int* counter = x + gridDim.x * blockDim.x;
  y[global_index()] = x[global_index()];
  if (kFence) __threadfence();
  if (kBarrier) __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(counter, 1) == static_cast<int>(gridDim.x) - 1;
  __syncthreads();
  if (!last) return;
  int sum = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) sum += y[b * blockDim.x + threadIdx.x];
  x[threadIdx.x] = sum;
  if (threadIdx.x == 0) *counter = 0;
}
__global__ void last_block_done(int* x, int* y) {
  last_block<true, true>(x, y);
}
__global__ void last_block_without_fence(int* x, int* y) {
  last_block<false, true>(x, y);
}
__global__ void last_block_without_barrier(int* x, int* y) {
  last_block<true, false>(x, y);
}

__global__ void volatile_flag(int* x, int* y) {
  volatile int* flag = x + 1;
  if (threadIdx.x != 0 || blockIdx.x > 1) return;
  if (blockIdx.x == 0) {
    y[0] = 7;
    __threadfence();
    *flag = 100;
  } else {
    while (*flag != 100) {
    }
    y[1] = y[0];
  }
}

__global__ void lock_without_fence(int* x, int* y) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(x, 0, 1) != 0) {
  }
  y[0] = static_cast<int>(blockIdx.x);
  atomicExch(x, 0);
}
__global__ void lock_with_fence(int* x, int*) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(x, 0, 1) != 0) {
  }
  x[1] += 1;
  __threadfence();
  atomicExch(x, 0);
}

__global__ void grid_barrier(int* x, int* y) {
  y[global_index()] = x[global_index()];
  cooperative_groups::this_grid().sync();
  const int all = kGlobalBlocks * kGlobalThreads;
  x[global_index()] = y[all - 1 - global_index()];
}
__global__ void no_grid_barrier(int* x, int* y) {
  y[global_index()] = x[global_index()];
  __syncthreads();
  const int all = kGlobalBlocks * kGlobalThreads;
  x[global_index()] = y[all - 1 - global_index()];
}

__global__ void reads_what_nobody_wrote(int* x, int* y) {
  x[global_index()] += y[global_index()];
}

__constant__ int constants[8];
__global__ void writes_a_constant(int* x, int*) {
  constants[threadIdx.x % 8] = x[threadIdx.x];
}
__global__ void past_the_constants(int* x, int*) {
  const int* place = constants;
  x[global_index()] = place[8 + threadIdx.x];
}

__global__ void misaligned_vector(int* x, int* y) {
  const int4 four = *reinterpret_cast<const int4*>(x + 1);
  y[global_index()] = four.x + four.w;
}

__global__ void null_pointer(int*, int*) {
  int* nothing = nullptr;
  nothing[threadIdx.x] = 0;
}

__global__ void host_pointer(int* x, int* host) {
  x[global_index()] = host[global_index()];
}

}  // namespace

void run_global(const std::string& kernel, int* x, int* y, int* host, const Stream& stream) {
#define WEFT_KERNEL(name) \
  { #name, name }
  const std::map<std::string, void (*)(int*, int*)> kernels = {
      WEFT_KERNEL(plain_counts),
      WEFT_KERNEL(neighbour_in_place),
      WEFT_KERNEL(plain_beside_atomic),
      WEFT_KERNEL(compare_and_swap),
      WEFT_KERNEL(device_variable),
      WEFT_KERNEL(device_array),
      WEFT_KERNEL(past_a_device_array),
      WEFT_KERNEL(last_block_done),
      WEFT_KERNEL(last_block_without_fence),
      WEFT_KERNEL(last_block_without_barrier),
      WEFT_KERNEL(volatile_flag),
      WEFT_KERNEL(lock_without_fence),
      WEFT_KERNEL(lock_with_fence),
      WEFT_KERNEL(grid_barrier),
      WEFT_KERNEL(no_grid_barrier),
      WEFT_KERNEL(reads_what_nobody_wrote),
      WEFT_KERNEL(writes_a_constant),
      WEFT_KERNEL(past_the_constants),
      WEFT_KERNEL(misaligned_vector),
      WEFT_KERNEL(null_pointer),
      WEFT_KERNEL(host_pointer)};
#undef WEFT_KERNEL
  const Launch config{kGlobalBlocks, kGlobalThreads, 0, stream};
  launch(kernels.at(kernel), kernel == "grid_barrier" ? config.cooperative() : config, x,
         kernel == "host_pointer" ? host : y);
}

}  // namespace weft::test

// SPDX-License-Identifier: MIT
// Kernels with the mistakes that students make, each of which host-cuda has to find.
#include "tests/host_cuda/broken_kernels.h"

#include "engine/launch.h"
#include "kernels/device/dynamic_shared.cuh"

namespace weft::test {

namespace {

constexpr int kThreads = 64;

// Kogge-Stone without its second barrier: thread i may overwrite values[i] before thread i + step
// has read it.
__global__ void kogge_stone_one_barrier(int* x) {
  __shared__ int values[kThreads];
  const int i = static_cast<int>(threadIdx.x);
  values[i] = x[i];
  for (int step = 1; step < kThreads; step *= 2) {
    __syncthreads();
    const int below = i >= step ? values[i - step] : 0;
    values[i] += below;
  }
  x[i] = values[i];
}

__global__ void one_past_a_static_array(int* x) {
  __shared__ int values[kThreads];
  const int i = static_cast<int>(threadIdx.x);
  values[i + 1] = x[i];
  __syncthreads();
  x[i] = values[i];
}

// The same through a pointer, whose array the compiler does not know.
__device__ void store(int* values, int i, int value) {
  values[i] = value;
}
__global__ void one_past_a_static_array_by_pointer(int* x) {
  __shared__ int values[kThreads];
  const int i = static_cast<int>(threadIdx.x);
  store(values, i + static_cast<int>(blockDim.x) / kThreads, x[i]);
  __syncthreads();
  x[i] = values[i];
}

__global__ void one_past_dynamic_memory(int* x) {
  int* values = kernels::device::dynamic_shared<int>();
  const int i = static_cast<int>(threadIdx.x);
  values[i + 1] = x[i];
  __syncthreads();
  x[i] = values[i + 1];
}

__global__ void one_past_an_allocation(int* x) {
  x[threadIdx.x + 1] = 0;
}

__global__ void one_before_an_allocation(int* x) {
  x[threadIdx.x] = x[static_cast<int>(threadIdx.x) - 1];
}

__global__ void return_above_a_barrier(int* x, int n) {
  __shared__ int values[kThreads];
  if (static_cast<int>(threadIdx.x) >= n) return;
  values[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = values[threadIdx.x];
}

__global__ void barrier_in_a_branch(int* x) {
  __shared__ int values[kThreads];
  values[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x < 40) {
    __syncthreads();
    x[threadIdx.x] = values[threadIdx.x + 1];
  } else {
    x[threadIdx.x] = 0;
    __syncthreads();
  }
}

__global__ void lane_missing_in_a_shuffle(int* x) {
  int value = x[threadIdx.x];
  if (threadIdx.x % 32 < 16) value += __shfl_down_sync(0xffffffffu, value, 8);
  x[threadIdx.x] = value;
}

__global__ void shuffle_from_outside_of_the_mask(int* x) {
  int value = x[threadIdx.x];
  if (threadIdx.x % 32 < 16) value += __shfl_down_sync(0x0000ffffu, value, 8);
  x[threadIdx.x] = value;
}

__global__ void reads_what_nobody_wrote(int* x) {
  __shared__ int values[kThreads + 1];
  values[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = values[threadIdx.x + 1];
}

__global__ void reads_a_vector_half_written(int* x) {
  __shared__ int2 values[kThreads];
  values[threadIdx.x].x = x[threadIdx.x];
  __syncthreads();
  const int2 pair = values[kThreads - 1 - threadIdx.x];
  x[threadIdx.x] = pair.x + pair.y;
}

// The last six levels of a reduction as they were written when the threads of a warp ran in
// lockstep.
__global__ void warp_without_syncwarp(int* x) {
  __shared__ int values[kThreads];
  const int i = static_cast<int>(threadIdx.x);
  values[i] = x[i];
  __syncthreads();
  if (i < 32) {
    volatile int* place = values;
    place[i] = place[i] + place[i + 32];
    place[i] = place[i] + place[i + 16];
    if (i == 0) x[0] = place[0];
  }
}

// Each warp sums its half, and the first one goes on before the second is done.
__global__ void warps_out_of_step(int* x) {
  __shared__ int sums[2];
  int value = x[threadIdx.x];
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffu, value, step);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncwarp();
  if (threadIdx.x == 0) x[0] = sums[0] + sums[1];
}

__global__ void waits_for_ever(int* x) {
  if (threadIdx.x == 0) {
    while (atomicAdd(x, 0) != 12345) {
    }
  }
}

// No race, but the last block that comes decides.
__global__ void order_of_blocks(int* x) {
  if (threadIdx.x == 0) atomicExch(x, static_cast<int>(blockIdx.x));
}

// Copies of a struct read and write its padding, and nobody means anything by that.
struct Flagged {
  int value;
  bool flag;
};
__global__ void copies_padding(int* x) {
  __shared__ Flagged values[kThreads];
  values[threadIdx.x].value = x[threadIdx.x];
  values[threadIdx.x].flag = true;
  __syncthreads();
  const Flagged other = values[kThreads - 1 - threadIdx.x];
  __syncthreads();
  values[threadIdx.x] = other;
  x[threadIdx.x] = other.flag ? other.value : 0;
}

}  // namespace

void run_broken(Broken which, int* x, const Stream& stream) {
  const Launch config{1, kThreads, 0, stream};
  switch (which) {
    case Broken::kogge_stone_one_barrier:
      return launch(kogge_stone_one_barrier, config, x);
    case Broken::one_past_a_static_array:
      return launch(one_past_a_static_array, config, x);
    case Broken::one_past_a_static_array_by_pointer:
      return launch(one_past_a_static_array_by_pointer, config, x);
    case Broken::one_past_dynamic_memory:
      return launch(one_past_dynamic_memory, Launch{1, kThreads, kThreads * sizeof(int), stream},
                    x);
    case Broken::one_past_an_allocation:
      return launch(one_past_an_allocation, config, x);
    case Broken::one_before_an_allocation:
      return launch(one_before_an_allocation, config, x);
    case Broken::return_above_a_barrier:
      return launch(return_above_a_barrier, config, x, 50);
    case Broken::barrier_in_a_branch:
      return launch(barrier_in_a_branch, config, x);
    case Broken::lane_missing_in_a_shuffle:
      return launch(lane_missing_in_a_shuffle, config, x);
    case Broken::shuffle_from_outside_of_the_mask:
      return launch(shuffle_from_outside_of_the_mask, config, x);
    case Broken::reads_what_nobody_wrote:
      return launch(reads_what_nobody_wrote, config, x);
    case Broken::reads_a_vector_half_written:
      return launch(reads_a_vector_half_written, config, x);
    case Broken::warp_without_syncwarp:
      return launch(warp_without_syncwarp, config, x);
    case Broken::warps_out_of_step:
      return launch(warps_out_of_step, config, x);
    case Broken::waits_for_ever:
      return launch(waits_for_ever, config, x);
    case Broken::order_of_blocks:
      return launch(order_of_blocks, Launch{8, kThreads, 0, stream}, x);
    case Broken::copies_padding:
      return launch(copies_padding, config, x);
  }
}

}  // namespace weft::test

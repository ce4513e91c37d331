// SPDX-License-Identifier: MIT
// Copies and reads of elements of 4 bytes at any offset and stride, one element per thread.
#include "engine/launch.h"
#include "kernels/device/block.cuh"
#include "kernels/device/vector.cuh"
#include "kernels/memory/launchers.h"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kReads = 8;  // of a thread of read_kernel, in flight at once

__global__ void __launch_bounds__(kThreads)
    copy_kernel(float* __restrict__ y, const float* __restrict__ x, std::int64_t n, Access access) {
  for (std::int64_t i = device::global_thread(); i < n; i += device::grid_threads()) {
    y[i] = x[access.offset + i * access.stride];
  }
}

// Integer sums are exact in any order, so blocks may add theirs by atomics.
__global__ void __launch_bounds__(kThreads)
    read_kernel(std::int64_t* __restrict__ sum, const std::int32_t* __restrict__ x, std::int64_t n,
                Access access) {
  __shared__ device::BlockReduceStorage<std::int64_t, kThreads> storage;
  std::int64_t total = 0;
  const std::int64_t block_elements = std::int64_t{kReads} * kThreads;
  for (std::int64_t first = blockIdx.x * block_elements + threadIdx.x; first < n;
       first += gridDim.x * block_elements) {
#pragma unroll
    for (int k = 0; k < kReads; ++k) {
      const std::int64_t i = first + k * kThreads;
      if (i < n) total += x[access.offset + i * access.stride];
    }
  }
  total = device::block_reduce<kThreads, true>(total, device::Add(), storage);
  if (threadIdx.x == 0) {
    atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(total));
  }
}

}  // namespace

void copy_strided(float* y, const float* x, std::int64_t n, const Access& access,
                  const Stream& stream) {
  launch(copy_kernel, Launch{blocks_for(n, kThreads), kThreads, 0, stream}, y, x, n, access);
}

void read_strided(std::int64_t* sum, const std::int32_t* x, std::int64_t n, const Access& access,
                  const Stream& stream) {
  constexpr std::int64_t kMaxBlocks = 16384;  // each adds to *sum once
  launch(read_kernel, Launch{blocks_for(n, kReads * kThreads, kMaxBlocks), kThreads, 0, stream},
         sum, x, n, access);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// Vector addition, the first kernel of every course: one element of 4 bytes per thread.
#include "engine/launch.h"
#include "kernels/device/vector.cuh"
#include "kernels/memory/launchers.h"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256;

// The guard is needed because the last block is rarely full; the loop never repeats for n < 2^39.
__global__ void __launch_bounds__(kThreads)
    scalar_kernel(float* __restrict__ c, const float* __restrict__ a, const float* __restrict__ b,
                  std::int64_t n) {
  for (std::int64_t i = device::global_thread(); i < n; i += device::grid_threads()) {
    c[i] = a[i] + b[i];
  }
}

}  // namespace

void memory_vector_add(float* c, const float* a, const float* b, std::int64_t n,
                       const Stream& stream) {
  launch(scalar_kernel, Launch{blocks_for(n, kThreads), kThreads, 0, stream}, c, a, b, n);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// Vector addition, the first kernel of every course, and the same with 16-byte loads and stores.
#include "engine/launch.h"
#include "kernels/device/vector.cuh"
#include "kernels/device/warp.cuh"
#include "kernels/memory/cuda.h"

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

__global__ void __launch_bounds__(device::kMapThreads)
    vectorized_kernel(float* __restrict__ c, const float* __restrict__ a,
                      const float* __restrict__ b, std::int64_t n) {
  device::map_elements(c, n, device::Add(), a, b);
}

}  // namespace

void vector_add_scalar(float* c, const float* a, const float* b, std::int64_t n,
                       const Stream& stream) {
  launch(scalar_kernel, Launch{blocks_for(n, kThreads), kThreads, 0, stream}, c, a, b, n);
}

void vector_add_vectorized(float* c, const float* a, const float* b, std::int64_t n,
                           const Stream& stream) {
  launch(vectorized_kernel,
         Launch{blocks_for(n, device::kMapElements, device::kMapBlocks), device::kMapThreads, 0,
                stream},
         c, a, b, n);
}

}  // namespace weft::kernels::cuda

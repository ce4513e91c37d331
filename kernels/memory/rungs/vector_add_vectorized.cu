// SPDX-License-Identifier: MIT
// Vector addition with loads and stores of 16 bytes.
#include "engine/launch.h"
#include "kernels/device/vector.cuh"
#include "kernels/device/warp.cuh"
#include "kernels/memory/launchers.h"

namespace weft::kernels::cuda {

namespace {

__global__ void __launch_bounds__(device::kMapThreads)
    vectorized_kernel(float* __restrict__ c, const float* __restrict__ a,
                      const float* __restrict__ b, std::int64_t n) {
  device::map_elements(c, n, device::Add(), a, b);
}

}  // namespace

void memory_vector_add_vectorized(float* c, const float* a, const float* b, std::int64_t n,
                                  const Stream& stream) {
  launch(vectorized_kernel,
         Launch{blocks_for(n, device::kMapElements, device::kMapBlocks), device::kMapThreads, 0,
                stream},
         c, a, b, n);
}

}  // namespace weft::kernels::cuda

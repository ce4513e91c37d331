// SPDX-License-Identifier: MIT
// Dropout with random numbers computed from a counter: four elements are one 16-byte load and one
// call of Philox (about 100 integer instructions), so no mask is written or read back.
#include "engine/launch.h"
#include "engine/random.h"
#include "kernels/device/vector.cuh"
#include "kernels/dropout/dropout.h"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    dropout_kernel(float* y, const float* x, std::int64_t n, float p, float scale,
                   std::uint64_t seed, std::uint32_t layer, const std::int64_t* step,
                   bool accumulate) {
  const std::uint64_t counter = static_cast<std::uint64_t>(*step) << 32;
  const std::int64_t stride = 4 * device::grid_threads();
  for (std::int64_t first = 4 * device::global_thread(); first < n; first += stride) {
    const device::Float4 in = device::load4(x, first, n);
    device::Float4 out = accumulate ? device::load4(y, first, n) : device::Float4{};
    const Random4 bits =
        philox(seed, RandomStream::dropout, layer, counter + static_cast<std::uint64_t>(first / 4));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      // Not out += ...: rounding the product first gives the bits of the CPU when overwriting.
      const float kept = uniform01(bits.value[i]) >= p ? __fmul_rn(in.lane[i], scale) : 0.0f;
      out.lane[i] = accumulate ? out.lane[i] + kept : kept;
    }
    device::store4(y, first, n, out);
  }
}

}  // namespace

void dropout(float* y, const float* x, std::int64_t n, float p, const DropoutKey& key,
             GradientMode mode, const Stream& stream) {
  launch(dropout_kernel, Launch{blocks_for(n, 4 * kThreads, 1 << 20), kThreads, 0, stream}, y, x, n,
         p, 1.0f / (1.0f - p), key.seed, key.layer, key.step, mode == GradientMode::accumulate);
}

}  // namespace weft::kernels::cuda

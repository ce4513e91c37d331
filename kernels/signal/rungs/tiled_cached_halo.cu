// SPDX-License-Identifier: MIT
// Signal convolution, rung "tiled_cached_halo" (strategy 3): halos stay in global memory.
//
// A block stages its 1024 elements only. Halo elements were the tile of a neighbouring block, which
// has just loaded them, so they are likely in the L2 cache; but each tap now asks where its element
// lies, and warps at the ends of the tile take both ways. 6 KiB of shared memory.
#include "engine/launch.h"
#include "kernels/signal/launchers.h"
#include "kernels/signal/parts/tile.h"

namespace weft::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kOutputs = 4;
constexpr int kTile = kThreads * kOutputs;
constexpr int kTaps = static_cast<int>(kSignalTiledTaps);

__global__ void __launch_bounds__(kThreads)
    signal_cached_halo_kernel(float* __restrict__ y, const float* __restrict__ x,
                              const float* __restrict__ filter, std::int64_t n, int taps) {
  __shared__ float tile[kTile];
  __shared__ float shared_filter[kTaps];
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const auto element = [&](std::int64_t i) { return i >= 0 && i < n ? x[i] : 0.0f; };
  for (int i = thread; i < taps; i += kThreads) shared_filter[i] = filter[i];
#pragma unroll
  for (int e = 0; e < kOutputs; ++e) {
    const int i = thread + e * kThreads;
    tile[i] = element(first + i);
  }
  __syncthreads();
#pragma unroll
  for (int e = 0; e < kOutputs; ++e) {
    const int place = thread + e * kThreads - taps / 2;
    float sum = 0;
    for (int c = 0; c < taps; ++c) {
      const int i = place + c;
      const float value = i >= 0 && i < kTile ? tile[i] : element(first + i);
      sum = fmaf(shared_filter[c], value, sum);
    }
    const std::int64_t out = first + thread + e * kThreads;
    if (out < n) y[out] = sum;
  }
}

}  // namespace

void signal_tiled_cached_halo(float* y, const float* x, const float* filter, const SignalDims& dims,
                              const Stream& stream) {
  launch(signal_cached_halo_kernel, Launch{blocks_for(dims.width, kTile), kThreads, 0, stream}, y,
         x, filter, dims.width, static_cast<int>(dims.filter_width));
}

}  // namespace weft::kernels::cuda

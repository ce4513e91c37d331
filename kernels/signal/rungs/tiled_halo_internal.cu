// SPDX-License-Identifier: MIT
// Signal convolution, rung "tiled_halo_internal" (strategy 1): threads match the output tile.
//
//   shared   | left halo |  1024 elements of the tile  | right halo |
//               fw / 2     256 threads, 4 loads each     fw - 1 - fw / 2
//
// Every element is loaded once by its block, but for the halos, and used fw times. Some threads
// load twice. A thread computes 4 outputs, 256 apart, so that one tap read from shared memory, by
// all threads at once, serves four of them. Up to 8 KiB of shared memory.
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
    signal_halo_internal_kernel(float* __restrict__ y, const float* __restrict__ x,
                                const float* __restrict__ filter, std::int64_t n, int taps) {
  __shared__ float tile[kTile + kTaps - 1];  // (left halo, tile, right halo)
  __shared__ float shared_filter[kTaps];
  const int thread = static_cast<int>(threadIdx.x), left = taps / 2, right = taps - 1 - left;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const auto element = [&](std::int64_t i) { return i >= 0 && i < n ? x[i] : 0.0f; };

  for (int i = thread; i < taps; i += kThreads) shared_filter[i] = filter[i];
  for (int i = thread; i < left; i += kThreads) tile[i] = element(first - left + i);
#pragma unroll
  for (int e = 0; e < kOutputs; ++e) {
    const int i = thread + e * kThreads;
    tile[left + i] = element(first + i);
  }
  for (int i = thread; i < right; i += kThreads)
    tile[left + kTile + i] = element(first + kTile + i);
  __syncthreads();

  float sum[kOutputs] = {};
#pragma unroll 4
  for (int c = 0; c < taps; ++c) {
    const float tap = shared_filter[c];
#pragma unroll
    for (int e = 0; e < kOutputs; ++e) {
      sum[e] = fmaf(tap, tile[thread + e * kThreads + c], sum[e]);
    }
  }
#pragma unroll
  for (int e = 0; e < kOutputs; ++e) {
    const std::int64_t i = first + thread + e * kThreads;
    if (i < n) y[i] = sum[e];
  }
}

}  // namespace

void signal_tiled_halo_internal(float* y, const float* x, const float* filter,
                                const SignalDims& dims, const Stream& stream) {
  launch(signal_halo_internal_kernel, Launch{blocks_for(dims.width, kTile), kThreads, 0, stream}, y,
         x, filter, dims.width, static_cast<int>(dims.filter_width));
}

}  // namespace weft::kernels::cuda

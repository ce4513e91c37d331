// SPDX-License-Identifier: MIT
// Signal convolution, rung "tiled_input" (strategy 2): threads match the input tile.
//
//   threads   |  1024: one load each                     |
//   outputs   | of the first 1025 - fw threads  |  idle  |
//
// Loading is as simple as can be, with no thread loading twice; the cost is threads that compute
// nothing, 4 of 1024 for 5 taps and half of them for 512. 6 KiB of shared memory.
#include "engine/launch.h"
#include "kernels/signal/launchers.h"
#include "kernels/signal/parts/tile.h"

namespace weft::kernels::cuda {
namespace {

constexpr int kThreads = 1024;
constexpr int kTaps = static_cast<int>(kSignalTiledTaps);

__global__ void __launch_bounds__(kThreads)
    signal_input_kernel(float* __restrict__ y, const float* __restrict__ x,
                        const float* __restrict__ filter, std::int64_t n, int taps) {
  __shared__ float tile[kThreads];
  __shared__ float shared_filter[kTaps];
  const int thread = static_cast<int>(threadIdx.x), outputs = kThreads - taps + 1;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * outputs;
  const std::int64_t in = first + thread - taps / 2, out = first + thread;
  tile[thread] = in >= 0 && in < n ? x[in] : 0.0f;
  if (thread < taps) shared_filter[thread] = filter[thread];
  __syncthreads();
  if (thread >= outputs || out >= n) return;
  float sum = 0;
#pragma unroll 4
  for (int c = 0; c < taps; ++c) sum = fmaf(shared_filter[c], tile[thread + c], sum);
  y[out] = sum;
}

}  // namespace

void signal_tiled_input(float* y, const float* x, const float* filter, const SignalDims& dims,
                        const Stream& stream) {
  const int taps = static_cast<int>(dims.filter_width);
  launch(signal_input_kernel,
         Launch{blocks_for(dims.width, kThreads - taps + 1), kThreads, 0, stream}, y, x, filter,
         dims.width, taps);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// Signal convolution, rung "naive": one thread per output, everything from global memory.
//
// Each tap costs a load of the signal, coalesced, and one of the filter, the same for the whole
// warp: two loads of 4 bytes for two operations. Caches serve nearly all of them; the loads
// themselves are the limit.
#include "engine/launch.h"
#include "kernels/signal/parts/window.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kThreads = 256;

template <int kRank>
__global__ void __launch_bounds__(kThreads)
    signal_naive_kernel(float* __restrict__ y, const float* __restrict__ x,
                        const float* __restrict__ filter, SignalDims d, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) y[i] = window_sum<kRank>(x, i, d, [&](int tap) { return filter[tap]; });
}

}  // namespace

void signal_naive(float* y, const float* x, const float* filter, const SignalDims& dims,
                  const Stream& stream) {
  const Launch config{blocks_for(dims.elements(), kThreads), kThreads, 0, stream};
  const auto kernel = dims.rank() == 1   ? signal_naive_kernel<1>
                      : dims.rank() == 2 ? signal_naive_kernel<2>
                                         : signal_naive_kernel<3>;
  launch(kernel, config, y, x, filter, dims, dims.elements());
}

}  // namespace weft::kernels::cuda

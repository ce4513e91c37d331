// SPDX-License-Identifier: MIT
// Signal convolution, rung "constant_memory": the filter moves to constant memory.
//
// All threads of a warp want the same tap at the same time, which is what the constant cache is
// for: one access, 32 receivers, no place taken in the data cache. Half of the loads of "naive"
// are gone. The filter is copied into its place in stream order before the kernel runs; there is
// one such place on a device. It takes all of the 64 KiB that constant memory has, 16384 taps. The
// cache in front of it has 8 KiB on an SM, so that longer filters than 2048 taps do not stay there.
#include "engine/cuda/cuda_check.h"
#include "engine/launch.h"
#include "kernels/signal/parts/window.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kThreads = 256;

__constant__ float constant_taps[kSignalTaps];

template <int kRank>
__global__ void __launch_bounds__(kThreads)
    signal_constant_kernel(float* __restrict__ y, const float* __restrict__ x, SignalDims d,
                           std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) y[i] = window_sum<kRank>(x, i, d, [](int tap) { return constant_taps[tap]; });
}

}  // namespace

void signal_constant_memory(float* y, const float* x, const float* filter, const SignalDims& dims,
                            const Stream& stream) {
  const Stream::Hold held = stream.hold();  // the filter is read before the next one is copied
  cuda_check(cudaMemcpyToSymbolAsync(constant_taps, filter,
                                     static_cast<std::size_t>(dims.taps()) * sizeof(float), 0,
                                     cudaMemcpyDeviceToDevice, stream.native()),
             "copy of a filter to constant memory");
  const Launch config{blocks_for(dims.elements(), kThreads), kThreads, 0, stream};
  const auto kernel = dims.rank() == 1   ? signal_constant_kernel<1>
                      : dims.rank() == 2 ? signal_constant_kernel<2>
                                         : signal_constant_kernel<3>;
  launch(kernel, config, y, x, dims, dims.elements());
}

}  // namespace weft::kernels::cuda

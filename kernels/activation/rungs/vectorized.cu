// SPDX-License-Identifier: MIT
// Activations and bias in one pass over memory.
//
// Element-wise kernels move 16 bytes per load (device/vector.cuh), two loads of each input in
// flight per thread: at 48 registers five blocks of 256 threads fit an SM, which is 40 KiB in
// flight per input. expf and tanhf are the accurate versions.
//
// bias_backward, inner == 1: a block owns 32 channels; 16 rows of threads walk down the matrix
//
//       channels ->
//     t0 .. t31     row 0, 16, 32, ...      then the 16 partial sums of a channel are
//     t0 .. t31     row 1, 17, 33, ...      added in order by the first row of threads
//
// inner > 1: a block per channel (visit_channel), then a block reduction. No workspace, no atomics.
// prelu_backward does so of any inner, and writes dx in the same pass.
#include "engine/launch.h"
#include "kernels/activation/activation.h"
#include "kernels/activation/functions.h"
#include "kernels/device/block.cuh"
#include "kernels/device/vector.cuh"

namespace weft::kernels::cuda {

namespace {

struct DeviceMath {
  using Value = float;
  static WEFT_OPERATOR float exp(float x) { return expf(x); }
  static WEFT_OPERATOR float expm1(float x) { return expm1f(x); }
  static WEFT_OPERATOR float tanh(float x) { return tanhf(x); }
  static WEFT_OPERATOR float erfc(float x) { return erfcf(x); }
};

template <class Function>
struct Gradient {
  Function function;
  __device__ float operator()(float dy, float v) const { return function.gradient(dy, v); }
};

template <class Function>
struct AddedGradient {
  Function function;
  __device__ float operator()(float dx, float dy, float v) const {
    return dx + function.gradient(dy, v);
  }
};

template <class Function>
__global__ void __launch_bounds__(device::kMapThreads)
    forward_kernel(float* y, const float* x, std::int64_t n, Function function) {
  device::map_elements(y, n, function, x);
}

template <class Function>
__global__ void __launch_bounds__(device::kMapThreads)
    backward_kernel(float* dx, const float* dy, const float* v, std::int64_t n, Function function) {
  device::map_elements(dx, n, Gradient<Function>{function}, dy, v);
}

template <class Function>
__global__ void __launch_bounds__(device::kMapThreads)
    backward_accumulate_kernel(float* dx, const float* dy, const float* v, std::int64_t n,
                               Function function) {
  device::map_elements(dx, n, AddedGradient<Function>{function}, static_cast<const float*>(dx), dy,
                       v);
}

constexpr int kBiasThreads = 256;

// Index is 32 bits wide where it suffices: a 64-bit division costs four times as much.
template <class Index>
__global__ void __launch_bounds__(kBiasThreads)
    bias_forward_kernel(float* y, const float* x, const float* __restrict__ bias, Index n,
                        Index channels, Index inner) {
  const Index stride = static_cast<Index>(device::grid_threads());
  for (Index i = static_cast<Index>(device::global_thread()); i < n; i += stride) {
    y[i] = x[i] + bias[(i / inner) % channels];
  }
}

template <class Index>
__global__ void __launch_bounds__(kBiasThreads)
    prelu_forward_kernel(float* y, const float* x, const float* __restrict__ slope, Index n,
                         Index channels, Index inner) {
  const Index stride = static_cast<Index>(device::grid_threads());
  for (Index i = static_cast<Index>(device::global_thread()); i < n; i += stride) {
    const float v = x[i];
    y[i] = v > 0.0f ? v : slope[(i / inner) % channels] * v;
  }
}

constexpr int kColumns = 32, kRows = 16;

__global__ void __launch_bounds__(kColumns* kRows)
    bias_columns_kernel(float* __restrict__ db, const float* __restrict__ dy, std::int64_t outer,
                        std::int64_t channels, bool accumulate) {
  __shared__ float partial[kRows][kColumns];
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * kColumns + threadIdx.x;
  float sum = 0.0f;
  if (c < channels) {
#pragma unroll 8
    for (std::int64_t i = threadIdx.y; i < outer; i += kRows) sum += dy[i * channels + c];
  }
  partial[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();  // all partial sums are written before the first row of threads reads them
  if (threadIdx.y == 0 && c < channels) {
    float total = 0.0f;
#pragma unroll
    for (int row = 0; row < kRows; ++row) total += partial[row][threadIdx.x];
    db[c] = accumulate ? db[c] + total : total;
  }
}

constexpr int kChannelThreads = 512;

__global__ void __launch_bounds__(kChannelThreads)
    bias_channel_kernel(float* __restrict__ db, const float* __restrict__ dy, std::int64_t outer,
                        std::int64_t channels, std::int64_t inner, bool accumulate) {
  __shared__ device::BlockReduceStorage<float, kChannelThreads> storage;
  const std::int64_t c = blockIdx.x;
  float sum = 0.0f;
  device::visit_channel(outer, channels, inner, c, 0, 1,
                        [&](std::int64_t offset) { sum += dy[offset]; });
  const float total = device::block_reduce<kChannelThreads>(sum, device::Add(), storage);
  if (threadIdx.x == 0) db[c] = accumulate ? db[c] + total : total;
}

// A block to a channel. dx is null or, in place, dy.
__global__ void __launch_bounds__(kChannelThreads)
    prelu_backward_kernel(float* dx, float* __restrict__ dslope, const float* dy,
                          const float* __restrict__ x, const float* __restrict__ slope,
                          std::int64_t outer, std::int64_t channels, std::int64_t inner,
                          bool accumulate) {
  __shared__ device::BlockReduceStorage<float, kChannelThreads> storage;
  const std::int64_t c = blockIdx.x;
  const float factor = slope[c];
  float sum = 0.0f;
  device::visit_channel(outer, channels, inner, c, 0, 1, [&](std::int64_t offset) {
    const float g = dy[offset], v = x[offset];
    if (!(v > 0.0f)) sum += g * v;
    if (dx != nullptr) dx[offset] = v > 0.0f ? g : factor * g;
  });
  const float total = device::block_reduce<kChannelThreads>(sum, device::Add(), storage);
  if (threadIdx.x == 0) dslope[c] = accumulate ? dslope[c] + total : total;
}

Launch map_launch(std::int64_t n, const Stream& stream) {
  return {blocks_for(n, device::kMapElements, device::kMapBlocks), device::kMapThreads, 0, stream};
}

}  // namespace

void activation_forward_vectorized(float* y, const float* x, std::int64_t n,
                                   const ActivationFunction& function, const Stream& stream) {
  functions::with_function<DeviceMath>(function, [&](auto f) {
    launch(forward_kernel<decltype(f)>, map_launch(n, stream), y, x, n, f);
  });
}

void activation_backward_vectorized(float* dx, const float* dy, const float* y, std::int64_t n,
                                    const ActivationFunction& function, GradientMode mode,
                                    const Stream& stream) {
  functions::with_function<DeviceMath>(function, [&](auto f) {
    const auto kernel = mode == GradientMode::overwrite ? backward_kernel<decltype(f)>
                                                        : backward_accumulate_kernel<decltype(f)>;
    launch(kernel, map_launch(n, stream), dx, dy, y, n, f);
  });
}

void prelu_forward_vectorized(float* y, const float* x, const float* slope, std::int64_t outer,
                              std::int64_t channels, std::int64_t inner, const Stream& stream) {
  const std::int64_t n = outer * channels * inner;
  const Launch config{blocks_for(n, kBiasThreads, 1 << 20), kBiasThreads, 0, stream};
  if (n < INT32_MAX) {
    launch(prelu_forward_kernel<std::uint32_t>, config, y, x, slope, static_cast<std::uint32_t>(n),
           static_cast<std::uint32_t>(channels), static_cast<std::uint32_t>(inner));
  } else {
    launch(prelu_forward_kernel<std::int64_t>, config, y, x, slope, n, channels, inner);
  }
}

void prelu_backward_vectorized(float* dx, float* dslope, const float* dy, const float* x,
                               const float* slope, std::int64_t outer, std::int64_t channels,
                               std::int64_t inner, GradientMode mode, const Stream& stream) {
  launch(prelu_backward_kernel, Launch{blocks_for(channels, 1), kChannelThreads, 0, stream}, dx,
         dslope, dy, x, slope, outer, channels, inner, mode == GradientMode::accumulate);
}

void bias_forward_vectorized(float* y, const float* x, const float* bias, std::int64_t outer,
                             std::int64_t channels, std::int64_t inner, const Stream& stream) {
  const std::int64_t n = outer * channels * inner;
  const Launch config{blocks_for(n, kBiasThreads, 1 << 20), kBiasThreads, 0, stream};
  if (n < INT32_MAX) {
    launch(bias_forward_kernel<std::uint32_t>, config, y, x, bias, static_cast<std::uint32_t>(n),
           static_cast<std::uint32_t>(channels), static_cast<std::uint32_t>(inner));
  } else {
    launch(bias_forward_kernel<std::int64_t>, config, y, x, bias, n, channels, inner);
  }
}

void bias_backward_vectorized(float* db, const float* dy, std::int64_t outer, std::int64_t channels,
                              std::int64_t inner, GradientMode mode, const Stream& stream) {
  const bool accumulate = mode == GradientMode::accumulate;
  if (inner == 1) {
    launch(bias_columns_kernel,
           Launch{blocks_for(channels, kColumns), dim3(kColumns, kRows), 0, stream}, db, dy, outer,
           channels, accumulate);
  } else {
    launch(bias_channel_kernel, Launch{blocks_for(channels, 1), kChannelThreads, 0, stream}, db, dy,
           outer, channels, inner, accumulate);
  }
}

}  // namespace weft::kernels::cuda

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
#include "engine/launch.h"
#include "kernels/activation/activation.h"
#include "kernels/device/block.cuh"
#include "kernels/device/vector.cuh"

namespace weft::kernels::cuda {

namespace {

struct Relu {
  __device__ float operator()(float x) const { return x <= 0.0f ? 0.0f : x; }  // keeps NaN
};
struct Sigmoid {
  __device__ float operator()(float x) const { return 1.0f / (1.0f + expf(-x)); }
};
struct Tanh {
  __device__ float operator()(float x) const { return tanhf(x); }
};

struct ReluGradient {
  __device__ float operator()(float dy, float y) const { return y > 0.0f ? dy : 0.0f; }
};
struct SigmoidGradient {
  __device__ float operator()(float dy, float y) const { return dy * y * (1.0f - y); }
};
struct TanhGradient {
  __device__ float operator()(float dy, float y) const { return dy * (1.0f - y * y); }
};

template <class Gradient>
struct Accumulated {
  __device__ float operator()(float dx, float dy, float y) const { return dx + Gradient()(dy, y); }
};

template <class Op>
__global__ void __launch_bounds__(device::kMapThreads)
    forward_kernel(float* y, const float* x, std::int64_t n) {
  device::map_elements(y, n, Op(), x);
}

template <class Gradient>
__global__ void __launch_bounds__(device::kMapThreads)
    backward_kernel(float* dx, const float* dy, const float* y, std::int64_t n) {
  device::map_elements(dx, n, Gradient(), dy, y);
}

template <class Gradient>
__global__ void __launch_bounds__(device::kMapThreads)
    backward_accumulate_kernel(float* dx, const float* dy, const float* y, std::int64_t n) {
  device::map_elements(dx, n, Accumulated<Gradient>(), static_cast<const float*>(dx), dy, y);
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

Launch map_launch(std::int64_t n, const Stream& stream) {
  return {blocks_for(n, device::kMapElements, device::kMapBlocks), device::kMapThreads, 0, stream};
}

}  // namespace

void activation_forward_vectorized(float* y, const float* x, std::int64_t n, Activation kind,
                                   const Stream& stream) {
  const Launch config = map_launch(n, stream);
  switch (kind) {
    case Activation::relu:
      return launch(forward_kernel<Relu>, config, y, x, n);
    case Activation::sigmoid:
      return launch(forward_kernel<Sigmoid>, config, y, x, n);
    case Activation::tanh:
      return launch(forward_kernel<Tanh>, config, y, x, n);
  }
}

void activation_backward_vectorized(float* dx, const float* dy, const float* y, std::int64_t n,
                                    Activation kind, GradientMode mode, const Stream& stream) {
  const Launch config = map_launch(n, stream);
  const auto run = [&](auto gradient) {
    using Gradient = decltype(gradient);
    if (mode == GradientMode::overwrite) {
      launch(backward_kernel<Gradient>, config, dx, dy, y, n);
    } else {
      launch(backward_accumulate_kernel<Gradient>, config, dx, dy, y, n);
    }
  };
  switch (kind) {
    case Activation::relu:
      return run(ReluGradient());
    case Activation::sigmoid:
      return run(SigmoidGradient());
    case Activation::tanh:
      return run(TanhGradient());
  }
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

// SPDX-License-Identifier: MIT
// Inference: y from mean and variance that are known.
//
//   units of 16 bytes of a channel:   block 0 | block 1 | ...      8 units to a thread, 4 in flight
//
// A channel of 2^31 values or more, or one of more than 65535, is walked with 64-bit offsets.
#include "engine/launch.h"
#include "kernels/batch_norm/launchers.h"
#include "kernels/batch_norm/parts/split.cuh"
#include "kernels/batch_norm/parts/split_plan.h"
#include "kernels/device/block.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256;

__device__ __forceinline__ float factor_of(float gamma, float var, float eps) {
  return gamma / sqrtf(var + eps);
}

template <int kWidth, bool kAligned>
__global__ void __launch_bounds__(kThreads)
    inference_kernel(float* __restrict__ y, const float* __restrict__ x,
                     const float* __restrict__ running_mean, const float* __restrict__ running_var,
                     const float* __restrict__ gamma, const float* __restrict__ beta, float eps,
                     Split split) {
  const unsigned c = blockIdx.y;
  write_normalised<kWidth, kAligned, kThreads>(y, x, split, running_mean[c],
                                               factor_of(gamma[c], running_var[c], eps), beta[c]);
}

__global__ void __launch_bounds__(kThreads)
    large_inference_kernel(float* __restrict__ y, const float* __restrict__ x,
                           const float* __restrict__ running_mean,
                           const float* __restrict__ running_var, const float* __restrict__ gamma,
                           const float* __restrict__ beta, float eps, std::int64_t n,
                           std::int64_t channels, std::int64_t inner) {
  const std::int64_t c = blockIdx.x;
  const float average = running_mean[c], shift = beta[c];
  const float factor = factor_of(gamma[c], running_var[c], eps);
  device::visit_channel(
      n, channels, inner, c, static_cast<int>(blockIdx.y), static_cast<int>(gridDim.y),
      [&](std::int64_t offset) { y[offset] = (x[offset] - average) * factor + shift; });
}

}  // namespace

void batch_norm_inference(float* y, const float* x, const float* running_mean,
                          const float* running_var, const float* gamma, const float* beta,
                          float eps, const BatchNormDims& dims, const Stream& stream) {
  const std::int64_t values = dims.n * dims.inner;
  if (!batch_norm_splits(dims)) {
    const dim3 grid(blocks_for(dims.c, 1), blocks_for(values, 16 * kThreads, 256));
    return launch(large_inference_kernel, {grid, kThreads, 0, stream}, y, x, running_mean,
                  running_var, gamma, beta, eps, dims.n, dims.c, dims.inner);
  }
  const std::int64_t parts = divide_up(values, 4 * 8 * kThreads);
  with_split<kThreads>(dims, parts, are_aligned({x, y}), stream,
                       [&](auto width, auto aligned, const Split& split, const Launch& config) {
                         launch(inference_kernel<width, aligned>, config, y, x, running_mean,
                                running_var, gamma, beta, eps, split);
                       });
}

}  // namespace weft::kernels::cuda

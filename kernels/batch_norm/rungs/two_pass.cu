// SPDX-License-Identifier: MIT
// Batch normalisation with a block per channel.
//
//   forward    pass 1 mean, pass 2 sum of (x - mean)^2, pass 3 output
//   backward   pass 1 sum of dy and of dy xhat, pass 2 dx
//
// The passes after the first find a channel of up to about 300 KiB (50 MiB of L2 / 132 SMs) in the
// L2 cache. Squares of centred values do not cancel, unlike E[x^2] - E[x]^2. A thread sums in
// float, the block in double, in an order that depends on the shape only.
//
// With fewer channels than SMs part of the GPU is idle: see split.cu.
#include "engine/launch.h"
#include "kernels/batch_norm/launchers.h"
#include "kernels/device/block.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 512;
using Storage = device::BlockReduceStorage<double, kThreads>;

__device__ __forceinline__ double block_sum(float value, Storage& storage) {
  return device::block_reduce<kThreads>(static_cast<double>(value), device::Add(), storage);
}

__global__ void __launch_bounds__(kThreads)
    forward_kernel(float* __restrict__ y, float* __restrict__ mean, float* __restrict__ inv_std,
                   float* __restrict__ running_mean, float* __restrict__ running_var,
                   const float* __restrict__ x, const float* __restrict__ gamma,
                   const float* __restrict__ beta, float eps, float momentum, std::int64_t n,
                   std::int64_t channels, std::int64_t inner) {
  __shared__ Storage storage;
  const std::int64_t c = blockIdx.x;
  const double count = static_cast<double>(n * inner);

  float sum = 0.0f;
  device::visit_channel(n, channels, inner, c, 0, 1,
                        [&](std::int64_t offset) { sum += x[offset]; });
  const float average = static_cast<float>(block_sum(sum, storage) / count);

  float squares = 0.0f;
  device::visit_channel(n, channels, inner, c, 0, 1, [&](std::int64_t offset) {
    const float centred = x[offset] - average;
    squares += centred * centred;
  });
  const double total = block_sum(squares, storage);
  const float scale = static_cast<float>(1.0 / sqrt(total / count + static_cast<double>(eps)));

  if (threadIdx.x == 0) {
    mean[c] = average;
    inv_std[c] = scale;
    const float unbiased = static_cast<float>(total / (count - 1.0));
    running_mean[c] = (1.0f - momentum) * running_mean[c] + momentum * average;
    running_var[c] = (1.0f - momentum) * running_var[c] + momentum * unbiased;
  }
  const float factor = gamma[c] * scale, shift = beta[c];
  device::visit_channel(n, channels, inner, c, 0, 1, [&](std::int64_t offset) {
    y[offset] = (x[offset] - average) * factor + shift;
  });
}

__global__ void __launch_bounds__(kThreads)
    inference_kernel(float* __restrict__ y, const float* __restrict__ x,
                     const float* __restrict__ running_mean, const float* __restrict__ running_var,
                     const float* __restrict__ gamma, const float* __restrict__ beta, float eps,
                     std::int64_t n, std::int64_t channels, std::int64_t inner) {
  const std::int64_t c = blockIdx.x;
  const float average = running_mean[c], shift = beta[c];
  const float factor = gamma[c] / sqrtf(running_var[c] + eps);
  device::visit_channel(
      n, channels, inner, c, static_cast<int>(blockIdx.y), static_cast<int>(gridDim.y),
      [&](std::int64_t offset) { y[offset] = (x[offset] - average) * factor + shift; });
}

__global__ void __launch_bounds__(kThreads)
    backward_kernel(float* __restrict__ dx, float* __restrict__ dgamma, float* __restrict__ dbeta,
                    const float* __restrict__ dy, const float* __restrict__ x,
                    const float* __restrict__ gamma, const float* __restrict__ mean,
                    const float* __restrict__ inv_std, std::int64_t n, std::int64_t channels,
                    std::int64_t inner, bool add_dx, bool add_parameters, bool mask) {
  __shared__ Storage storage;
  const std::int64_t c = blockIdx.x;
  const float average = mean[c], scale = inv_std[c];

  float sum = 0.0f, sum_hat = 0.0f;
  device::visit_channel(n, channels, inner, c, 0, 1, [&](std::int64_t offset) {
    sum += dy[offset];
    sum_hat += dy[offset] * ((x[offset] - average) * scale);
  });
  const double total = block_sum(sum, storage);
  const double total_hat = block_sum(sum_hat, storage);
  if (threadIdx.x == 0) {
    const float db = static_cast<float>(total), dg = static_cast<float>(total_hat);
    dbeta[c] = add_parameters ? dbeta[c] + db : db;
    dgamma[c] = add_parameters ? dgamma[c] + dg : dg;
  }

  const double count = static_cast<double>(n * inner);
  const float mean_dy = static_cast<float>(total / count);
  const float mean_hat = static_cast<float>(total_hat / count);
  const float factor = gamma[c] * scale;
  device::visit_channel(n, channels, inner, c, 0, 1, [&](std::int64_t offset) {
    const float hat = (x[offset] - average) * scale;
    const float gradient = factor * (dy[offset] - mean_dy - hat * mean_hat);
    const float value = mask && !(x[offset] > 0.0f) ? 0.0f : gradient;
    dx[offset] = add_dx ? dx[offset] + value : value;
  });
}

Launch per_channel(const BatchNormDims& dims, const Stream& stream) {
  return {blocks_for(dims.c, 1), kThreads, 0, stream};
}

}  // namespace

void batch_norm_forward_two_pass(float* y, float* mean, float* inv_std, float* running_mean,
                                 float* running_var, const float* x, const float* gamma,
                                 const float* beta, float eps, float momentum,
                                 const BatchNormDims& dims, Workspace, const Stream& stream) {
  launch(forward_kernel, per_channel(dims, stream), y, mean, inv_std, running_mean, running_var, x,
         gamma, beta, eps, momentum, dims.n, dims.c, dims.inner);
}

void batch_norm_inference(float* y, const float* x, const float* running_mean,
                          const float* running_var, const float* gamma, const float* beta,
                          float eps, const BatchNormDims& dims, const Stream& stream) {
  // Blocks share a channel, 16 elements to a thread: nothing is summed, so no order is at stake.
  const unsigned parts = blocks_for(dims.n * dims.inner, 16 * kThreads, 256);
  launch(inference_kernel, Launch{dim3(blocks_for(dims.c, 1), parts), kThreads, 0, stream}, y, x,
         running_mean, running_var, gamma, beta, eps, dims.n, dims.c, dims.inner);
}

void batch_norm_backward_two_pass(float* dx, float* dgamma, float* dbeta, const float* dy,
                                  const float* x, const float* gamma, const float* mean,
                                  const float* inv_std, const BatchNormDims& dims,
                                  GradientMode dx_mode, GradientMode parameter_mode, bool mask,
                                  Workspace, const Stream& stream) {
  launch(backward_kernel, per_channel(dims, stream), dx, dgamma, dbeta, dy, x, gamma, mean, inv_std,
         dims.n, dims.c, dims.inner, dx_mode == GradientMode::accumulate,
         parameter_mode == GradientMode::accumulate, mask);
}

}  // namespace weft::kernels::cuda

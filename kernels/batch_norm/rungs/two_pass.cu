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
#include "kernels/batch_norm/parts/channel.cuh"
#include "kernels/device/block.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 512;
using Storage = device::BlockReduceStorage<double, kThreads>;

__device__ __forceinline__ double block_sum(float value, Storage& storage) {
  return device::block_reduce<kThreads>(static_cast<double>(value), device::Add(), storage);
}

__device__ __forceinline__ float average_of_channel(const float* x, std::int64_t n,
                                                    std::int64_t channels, std::int64_t inner,
                                                    std::int64_t c, Storage& storage) {
  float sum = 0.0f;
  device::visit_channel(n, channels, inner, c, 0, 1,
                        [&](std::int64_t offset) { sum += x[offset]; });
  return static_cast<float>(block_sum(sum, storage) / static_cast<double>(n * inner));
}

__device__ __forceinline__ void sums_of_channel(double& total, double& total_hat,
                                                const float* __restrict__ dy,
                                                const float* __restrict__ x, float average,
                                                float scale, std::int64_t n, std::int64_t channels,
                                                std::int64_t inner, std::int64_t c,
                                                Storage& storage) {
  float sum = 0.0f, sum_hat = 0.0f;
  device::visit_channel(n, channels, inner, c, 0, 1, [&](std::int64_t offset) {
    sum += dy[offset];
    sum_hat += dy[offset] * ((x[offset] - average) * scale);
  });
  total = block_sum(sum, storage);
  total_hat = block_sum(sum_hat, storage);
}

// factor is gamma inv_std.
__device__ __forceinline__ void write_dx(float* __restrict__ dx, const float* __restrict__ dy,
                                         const float* __restrict__ x, std::int64_t offset,
                                         float average, float scale, float factor, float mean_dy,
                                         float mean_hat, bool add, bool mask) {
  const float hat = (x[offset] - average) * scale;
  const float gradient = factor * (dy[offset] - mean_dy - hat * mean_hat);
  const float value = mask && !(x[offset] > 0.0f) ? 0.0f : gradient;
  dx[offset] = add ? dx[offset] + value : value;
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
  const float average = average_of_channel(x, n, channels, inner, c, storage);

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
    device::update_running(running_mean, running_var, c, average, unbiased, momentum);
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

  double total, total_hat;
  sums_of_channel(total, total_hat, dy, x, average, scale, n, channels, inner, c, storage);
  if (threadIdx.x == 0) {
    device::write_parameter_gradients(dgamma, dbeta, c, total, total_hat, add_parameters);
  }

  const double count = static_cast<double>(n * inner);
  const float mean_dy = static_cast<float>(total / count);
  const float mean_hat = static_cast<float>(total_hat / count);
  const float factor = gamma[c] * scale;
  device::visit_channel(n, channels, inner, c, 0, 1, [&](std::int64_t offset) {
    write_dx(dx, dy, x, offset, average, scale, factor, mean_dy, mean_hat, add_dx, mask);
  });
}

// The kernels below are those of over_ranks.h.
__global__ void __launch_bounds__(kThreads)
    moments_kernel(Moments* __restrict__ moments, float* __restrict__ mean,
                   const float* __restrict__ x, std::int64_t n, std::int64_t channels,
                   std::int64_t inner, double all) {
  __shared__ Storage storage;
  const std::int64_t c = blockIdx.x;
  if (n == 0) {
    if (threadIdx.x == 0) device::write_moments(moments, mean, c, {0, 0, 0}, all);
    return;
  }
  const float pilot = average_of_channel(x, n, channels, inner, c, storage);
  float sum = 0.0f, squares = 0.0f;
  device::visit_channel(n, channels, inner, c, 0, 1, [&](std::int64_t offset) {
    const float centred = x[offset] - pilot;
    sum += centred;
    squares += centred * centred;
  });
  const double total = block_sum(sum, storage);
  const double total_squares = block_sum(squares, storage);
  if (threadIdx.x != 0) return;
  const double count = static_cast<double>(n * inner);
  device::write_moments(moments, mean, c, device::moments_about(pilot, count, total, total_squares),
                        all);
}

__global__ void __launch_bounds__(kThreads)
    gradient_sums_kernel(float* __restrict__ dgamma, float* __restrict__ dbeta,
                         float* __restrict__ means, const float* __restrict__ dy,
                         const float* __restrict__ x, const float* __restrict__ mean,
                         const float* __restrict__ inv_std, std::int64_t n, std::int64_t channels,
                         std::int64_t inner, double all, bool add_parameters) {
  __shared__ Storage storage;
  const std::int64_t c = blockIdx.x;
  double total, total_hat;
  sums_of_channel(total, total_hat, dy, x, mean[c], inv_std[c], n, channels, inner, c, storage);
  if (threadIdx.x != 0) return;
  device::write_parameter_gradients(dgamma, dbeta, c, total, total_hat, add_parameters);
  device::write_gradient_means(means, c, channels, total, total_hat, all);
}

__global__ void __launch_bounds__(kThreads, 2)  // with 40 registers sm_80 spills
    input_gradient_kernel(float* __restrict__ dx, const float* __restrict__ dy,
                          const float* __restrict__ x, const float* __restrict__ gamma,
                          const float* __restrict__ mean, const float* __restrict__ inv_std,
                          const float* __restrict__ means, std::int64_t n, std::int64_t channels,
                          std::int64_t inner, bool add_dx, bool mask) {
  const std::int64_t c = blockIdx.x;
  const float average = mean[c], scale = inv_std[c], factor = gamma[c] * scale;
  const float mean_dy = means[c], mean_hat = means[channels + c];
  device::visit_channel(n, channels, inner, c, static_cast<int>(blockIdx.y),
                        static_cast<int>(gridDim.y), [&](std::int64_t offset) {
                          write_dx(dx, dy, x, offset, average, scale, factor, mean_dy, mean_hat,
                                   add_dx, mask);
                        });
}

Launch per_channel(const BatchNormDims& dims, const Stream& stream) {
  return {blocks_for(dims.c, 1), kThreads, 0, stream};
}

// Blocks share a channel, 16 elements to a thread: nothing is summed, so no order is at stake.
Launch per_element(const BatchNormDims& dims, const Stream& stream) {
  const unsigned parts = blocks_for(dims.n * dims.inner, 16 * kThreads, 256);
  return {dim3(blocks_for(dims.c, 1), parts), kThreads, 0, stream};
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
  launch(inference_kernel, per_element(dims, stream), y, x, running_mean, running_var, gamma, beta,
         eps, dims.n, dims.c, dims.inner);
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

void batch_norm_moments_two_pass(Moments* moments, float* mean, const float* x,
                                 const BatchNormDims& dims, double all, Workspace,
                                 const Stream& stream) {
  launch(moments_kernel, per_channel(dims, stream), moments, mean, x, dims.n, dims.c, dims.inner,
         all);
}

void batch_norm_gradient_sums_two_pass(float* dgamma, float* dbeta, float* means, const float* dy,
                                       const float* x, const float* mean, const float* inv_std,
                                       const BatchNormDims& dims, double all,
                                       GradientMode parameter_mode, Workspace,
                                       const Stream& stream) {
  launch(gradient_sums_kernel, per_channel(dims, stream), dgamma, dbeta, means, dy, x, mean,
         inv_std, dims.n, dims.c, dims.inner, all, parameter_mode == GradientMode::accumulate);
}

void batch_norm_input_gradient(float* dx, const float* dy, const float* x, const float* gamma,
                               const float* mean, const float* inv_std, const float* means,
                               const BatchNormDims& dims, GradientMode dx_mode, bool mask,
                               const Stream& stream) {
  launch(input_gradient_kernel, per_element(dims, stream), dx, dy, x, gamma, mean, inv_std, means,
         dims.n, dims.c, dims.inner, dx_mode == GradientMode::accumulate, mask);
}

}  // namespace weft::kernels::cuda

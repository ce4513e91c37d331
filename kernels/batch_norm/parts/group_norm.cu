// SPDX-License-Identifier: MIT
// Normalisation of each input alone: a block for each group of values, which lie side by side, and
// for the parameter gradients a block for each channel. The values of a group are read again for
// each of its sums, mostly from the caches.
#include "kernels/batch_norm/parts/group_norm_launchers.h"

#include "engine/launch.h"
#include "kernels/device/block.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    group_forward_kernel(float* __restrict__ y, float* __restrict__ mean,
                         float* __restrict__ inv_std, const float* __restrict__ x,
                         const float* __restrict__ gamma, const float* __restrict__ beta, float eps,
                         std::int64_t rows, int groups, int channels, std::int64_t inner) {
  __shared__ device::BlockReduceStorage<float, kThreads> storage;
  const std::int64_t values = channels * inner;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float* in = x + row * values;
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < values; i += kThreads) sum += in[i];
    const float scale = 1.0f / static_cast<float>(values);
    const float center = device::block_reduce<kThreads>(sum, device::Add(), storage) * scale;
    float squares = 0.0f;
    for (std::int64_t i = threadIdx.x; i < values; i += kThreads) {
      const float distance = in[i] - center;
      squares += distance * distance;
    }
    const float variance = device::block_reduce<kThreads>(squares, device::Add(), storage) * scale;
    const float factor = 1.0f / sqrtf(variance + eps);
    const int first = static_cast<int>(row % groups) * channels;
    for (std::int64_t i = threadIdx.x; i < values; i += kThreads) {
      const std::int64_t c = first + i / inner;
      y[row * values + i] = gamma[c] * ((in[i] - center) * factor) + beta[c];
    }
    if (threadIdx.x == 0) {
      mean[row] = center;
      inv_std[row] = factor;
    }
  }
}

__global__ void __launch_bounds__(kThreads)
    group_gradient_kernel(float* __restrict__ dx, const float* __restrict__ dy,
                          const float* __restrict__ x, const float* __restrict__ gamma,
                          const float* __restrict__ mean, const float* __restrict__ inv_std,
                          std::int64_t rows, int groups, int channels, std::int64_t inner) {
  __shared__ device::BlockReduceStorage<float, kThreads> storage;
  const std::int64_t values = channels * inner;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const std::int64_t at = row * values;
    const float center = mean[row], factor = inv_std[row];
    const int first = static_cast<int>(row % groups) * channels;
    float sum = 0.0f, products = 0.0f;
    for (std::int64_t i = threadIdx.x; i < values; i += kThreads) {
      const float g = dy[at + i] * gamma[first + i / inner];
      sum += g;
      products += g * ((x[at + i] - center) * factor);
    }
    const float scale = 1.0f / static_cast<float>(values);
    const float mean_g = device::block_reduce<kThreads>(sum, device::Add(), storage) * scale;
    const float mean_p = device::block_reduce<kThreads>(products, device::Add(), storage) * scale;
    for (std::int64_t i = threadIdx.x; i < values; i += kThreads) {
      const float g = dy[at + i] * gamma[first + i / inner];
      dx[at + i] = factor * (g - mean_g - (x[at + i] - center) * factor * mean_p);
    }
  }
}

__global__ void __launch_bounds__(kThreads)
    group_parameters_kernel(float* __restrict__ dgamma, float* __restrict__ dbeta,
                            const float* __restrict__ dy, const float* __restrict__ x,
                            const float* __restrict__ mean, const float* __restrict__ inv_std,
                            std::int64_t n, std::int64_t c, std::int64_t inner, int groups,
                            int channels, bool accumulate) {
  __shared__ device::BlockReduceStorage<float, kThreads> storage;
  for (std::int64_t channel = blockIdx.x; channel < c; channel += gridDim.x) {
    const std::int64_t group = channel / channels;
    float sum = 0.0f, products = 0.0f;
    device::visit_channel(n, c, inner, channel, 0, 1, [&](std::int64_t offset) {
      const std::int64_t row = offset / (c * inner) * groups + group;
      sum += dy[offset];
      products += dy[offset] * ((x[offset] - mean[row]) * inv_std[row]);
    });
    const float beta = device::block_reduce<kThreads>(sum, device::Add(), storage);
    const float gamma = device::block_reduce<kThreads>(products, device::Add(), storage);
    if (threadIdx.x == 0) {
      dgamma[channel] = accumulate ? dgamma[channel] + gamma : gamma;
      dbeta[channel] = accumulate ? dbeta[channel] + beta : beta;
    }
  }
}

Launch a_block_each(std::int64_t count, const Stream& stream) {
  return {blocks_for(count, 1, 1 << 20), kThreads, 0, stream};
}

}  // namespace

void group_norm_forward(float* y, float* mean, float* inv_std, const float* x, const float* gamma,
                        const float* beta, float eps, const GroupNormDims& d,
                        const Stream& stream) {
  const std::int64_t rows = d.n * d.groups;
  launch(group_forward_kernel, a_block_each(rows, stream), y, mean, inv_std, x, gamma, beta, eps,
         rows, narrow(d.groups), narrow(d.group_channels()), d.inner);
}

void group_norm_input_gradient(float* dx, const float* dy, const float* x, const float* gamma,
                               const float* mean, const float* inv_std, const GroupNormDims& d,
                               const Stream& stream) {
  const std::int64_t rows = d.n * d.groups;
  launch(group_gradient_kernel, a_block_each(rows, stream), dx, dy, x, gamma, mean, inv_std, rows,
         narrow(d.groups), narrow(d.group_channels()), d.inner);
}

void group_norm_parameter_gradients(float* dgamma, float* dbeta, const float* dy, const float* x,
                                    const float* mean, const float* inv_std, const GroupNormDims& d,
                                    GradientMode mode, const Stream& stream) {
  launch(group_parameters_kernel, a_block_each(d.c, stream), dgamma, dbeta, dy, x, mean, inv_std,
         d.n, d.c, d.inner, narrow(d.groups), narrow(d.group_channels()),
         mode == GradientMode::accumulate);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// The steps of over_ranks.h that walk over channels only: a thread for each.
#include "engine/launch.h"
#include "kernels/batch_norm/launchers.h"
#include "kernels/batch_norm/parts/channel.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 128;

__global__ void __launch_bounds__(kThreads)
    variance_kernel(float* __restrict__ var, const Moments* __restrict__ moments,
                    const float* __restrict__ mean, std::int64_t channels, double all) {
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (c >= channels) return;
  const Moments own = moments[c];
  const double squares = own.squares < 0 ? 0 : own.squares;  // rounding, of equal values
  const double distance = own.mean - static_cast<double>(mean[c]);
  var[c] = static_cast<float>((squares + own.count * distance * distance) / all);
}

// inv_std may be var.
__global__ void __launch_bounds__(kThreads)
    finish_kernel(float* inv_std, float* __restrict__ running_mean, float* __restrict__ running_var,
                  const float* __restrict__ mean, const float* var, float eps, float momentum,
                  std::int64_t channels, double all) {
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (c >= channels) return;
  const double biased = static_cast<double>(var[c]);
  inv_std[c] = static_cast<float>(1.0 / sqrt(biased + static_cast<double>(eps)));
  const float unbiased = static_cast<float>(biased * (all / (all - 1.0)));
  device::update_running(running_mean, running_var, c, mean[c], unbiased, momentum);
}

Launch per_channel(std::int64_t channels, const Stream& stream) {
  return {blocks_for(channels, kThreads), kThreads, 0, stream};
}

}  // namespace

void batch_norm_variance(float* var, const Moments* moments, const float* mean,
                         std::int64_t channels, double all, const Stream& stream) {
  launch(variance_kernel, per_channel(channels, stream), var, moments, mean, channels, all);
}

void batch_norm_finish(float* inv_std, float* running_mean, float* running_var, const float* mean,
                       const float* var, float eps, float momentum, std::int64_t channels,
                       double all, const Stream& stream) {
  launch(finish_kernel, per_channel(channels, stream), inv_std, running_mean, running_var, mean,
         var, eps, momentum, channels, all);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// Batch normalisation with each channel split over as many blocks as keep the GPU busy.
//
//   forward    1: each block sums up its part of a channel    2: each block merges the parts of its
//                 count, mean, squares of (x - mean)             channel, and normalises its own
//   backward   1: sums of dy and of dy xhat                   2: the same, with dx
//
// One walk yields mean and squares without cancellation, because values are taken relative to a
// pilot that lies among them: the mean of the first value of each thread. Parts are merged as by
// Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
// variances", 1979. The second kernel finds x in the L2 cache if the array fits there. A thread
// sums in float, a block in double; parts and their order depend on the shape only.
#include "engine/launch.h"
#include "kernels/batch_norm/launchers.h"
#include "kernels/batch_norm/parts/channel.cuh"
#include "kernels/batch_norm/parts/split.cuh"
#include "kernels/batch_norm/parts/split_plan.h"
#include "kernels/device/block.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256;
using Storage = device::BlockReduceStorage<double, kThreads>;

__device__ __forceinline__ double block_sum(float value, Storage& storage) {
  return device::block_reduce<kThreads>(static_cast<double>(value), device::Add(), storage);
}

template <int kWidth>
__global__ void __launch_bounds__(kThreads)
    moments_kernel(Moments* __restrict__ parts, const float* __restrict__ x, Split split) {
  __shared__ Storage storage;
  const int first = split.first() + static_cast<int>(threadIdx.x);
  const int units = split.end() - split.first();
  const float sample = first < split.end() ? x[offset_of<kWidth>(split, first)] : 0.0f;
  const float pilot = static_cast<float>(block_sum(sample, storage) / min(units, kThreads));

  float sum = 0.0f, squares = 0.0f;
  walk<kWidth, kThreads>(split, [&](std::int64_t offset, int) {
    const Unit<kWidth> values = load<kWidth>(x, offset, split);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      const float centred = values.lane[i] - pilot;
      sum += centred;
      squares += centred * centred;
    }
  });
  const double total = block_sum(sum, storage);
  const double total_squares = block_sum(squares, storage);
  if (threadIdx.x != 0) return;
  const double count = static_cast<double>(units) * kWidth;
  parts[static_cast<std::int64_t>(blockIdx.y) * gridDim.x + blockIdx.x] =
      device::moments_about(pilot, count, total, total_squares);
}

// The sum of value(part) over the `count` parts of channel c; by whole warps.
template <class Part, class Value>
__device__ __forceinline__ double sum_of_parts(const Part* parts, unsigned c, unsigned count,
                                               const Value& value) {
  const Part* own = parts + static_cast<std::int64_t>(c) * count;
  double sum = 0;
  for (int p = static_cast<int>(threadIdx.x) % device::kWarpSize; p < static_cast<int>(count);
       p += device::kWarpSize) {
    sum += value(own[p]);
  }
  return device::warp_reduce(sum, device::Add());
}
template <class Part, class Value>
__device__ __forceinline__ double sum_of_parts(const Part* parts, const Value& value) {
  return sum_of_parts(parts, blockIdx.y, gridDim.x, value);
}

template <int kWidth>
__global__ void __launch_bounds__(kThreads)
    normalize_kernel(float* __restrict__ y, float* __restrict__ mean, float* __restrict__ inv_std,
                     float* __restrict__ running_mean, float* __restrict__ running_var,
                     const Moments* __restrict__ parts, const float* __restrict__ x,
                     const float* __restrict__ gamma, const float* __restrict__ beta, float eps,
                     float momentum, Split split) {
  const int c = static_cast<int>(blockIdx.y);
  const double count = static_cast<double>(split.units) * kWidth;
  const double center =
      sum_of_parts(parts, [](const Moments& part) { return part.count * part.mean; }) / count;
  const double squares = sum_of_parts(parts, [=](const Moments& part) {
    return part.squares + part.count * (part.mean - center) * (part.mean - center);
  });
  const float average = static_cast<float>(center);
  const float scale = static_cast<float>(1.0 / sqrt(squares / count + static_cast<double>(eps)));
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    mean[c] = average;
    inv_std[c] = scale;
    const float unbiased = static_cast<float>(squares / (count - 1.0));
    device::update_running(running_mean, running_var, c, average, unbiased, momentum);
  }
  const float factor = gamma[c] * scale, shift = beta[c];
  walk<kWidth, kThreads>(split, [&](std::int64_t offset, int) {
    Unit<kWidth> values = load<kWidth>(x, offset, split);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) values.lane[i] = (values.lane[i] - average) * factor + shift;
    store(y, offset, split, values);
  });
}

template <int kWidth>
__global__ void __launch_bounds__(kThreads)
    gradient_sums_kernel(GradientSums* __restrict__ parts, const float* __restrict__ dy,
                         const float* __restrict__ x, const float* __restrict__ mean,
                         const float* __restrict__ inv_std, Split split) {
  __shared__ Storage storage;
  const float average = mean[blockIdx.y], scale = inv_std[blockIdx.y];
  float sum = 0.0f, sum_hat = 0.0f;
  walk<kWidth, kThreads>(split, [&](std::int64_t offset, int) {
    const Unit<kWidth> gradient = load<kWidth>(dy, offset, split);
    const Unit<kWidth> values = load<kWidth>(x, offset, split);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      sum += gradient.lane[i];
      sum_hat += gradient.lane[i] * ((values.lane[i] - average) * scale);
    }
  });
  const double total = block_sum(sum, storage);
  const double total_hat = block_sum(sum_hat, storage);
  if (threadIdx.x == 0) {
    parts[static_cast<std::int64_t>(blockIdx.y) * gridDim.x + blockIdx.x] = {total, total_hat};
  }
}

template <int kWidth>
__global__ void __launch_bounds__(kThreads)
    gradient_kernel(float* __restrict__ dx, float* __restrict__ dgamma, float* __restrict__ dbeta,
                    const GradientSums* __restrict__ parts, const float* __restrict__ dy,
                    const float* __restrict__ x, const float* __restrict__ gamma,
                    const float* __restrict__ mean, const float* __restrict__ inv_std, Split split,
                    bool add_dx, bool add_parameters, bool mask) {
  const int c = static_cast<int>(blockIdx.y);
  const double total = sum_of_parts(parts, [](const GradientSums& part) { return part.dy; });
  const double total_hat =
      sum_of_parts(parts, [](const GradientSums& part) { return part.dy_hat; });
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    device::write_parameter_gradients(dgamma, dbeta, c, total, total_hat, add_parameters);
  }
  const double count = static_cast<double>(split.units) * kWidth;
  const float mean_dy = static_cast<float>(total / count);
  const float mean_hat = static_cast<float>(total_hat / count);
  const ChannelGradient of{mean[c], inv_std[c], gamma[c] * inv_std[c], mean_dy, mean_hat};
  walk<kWidth, kThreads>(split, [&](std::int64_t offset, int) {
    write_gradient(dx, offset, split, load<kWidth>(dy, offset, split),
                   load<kWidth>(x, offset, split), of, add_dx, mask);
  });
}

// Over ranks: a block of one warp merges the parts of its channel. Without rows there are none.
__global__ void __launch_bounds__(device::kWarpSize)
    merge_moments_kernel(Moments* __restrict__ moments, float* __restrict__ mean,
                         const Moments* __restrict__ parts, unsigned count, double all) {
  const unsigned c = blockIdx.x;
  const double values =
      sum_of_parts(parts, c, count, [](const Moments& part) { return part.count; });
  const double total =
      sum_of_parts(parts, c, count, [](const Moments& part) { return part.count * part.mean; });
  const double center = values > 0 ? total / values : 0;
  const double squares = sum_of_parts(parts, c, count, [=](const Moments& part) {
    return part.squares + part.count * (part.mean - center) * (part.mean - center);
  });
  if (threadIdx.x == 0) device::write_moments(moments, mean, c, {values, center, squares}, all);
}

__global__ void __launch_bounds__(device::kWarpSize)
    merge_gradient_sums_kernel(float* __restrict__ dgamma, float* __restrict__ dbeta,
                               float* __restrict__ means, const GradientSums* __restrict__ parts,
                               unsigned count, double all, bool add_parameters) {
  const unsigned c = blockIdx.x;
  const double total =
      sum_of_parts(parts, c, count, [](const GradientSums& part) { return part.dy; });
  const double total_hat =
      sum_of_parts(parts, c, count, [](const GradientSums& part) { return part.dy_hat; });
  if (threadIdx.x != 0) return;
  device::write_parameter_gradients(dgamma, dbeta, c, total, total_hat, add_parameters);
  device::write_gradient_means(means, c, gridDim.x, total, total_hat, all);
}

// Calls run(integral_constant<int, kWidth>, split, launch).
template <class Run>
void dispatch(const BatchNormDims& dims, const Stream& stream, const Run& run) {
  with_width(dims, [&](auto width) {
    const Split split(dims, width, batch_norm_parts(dims));
    const dim3 grid(blocks_for(split.units, split.part_units), blocks_for(dims.c, 1));
    run(width, split, Launch{grid, kThreads, 0, stream});
  });
}

}  // namespace

void batch_norm_forward_split(float* y, float* mean, float* inv_std, float* running_mean,
                              float* running_var, const float* x, const float* gamma,
                              const float* beta, float eps, float momentum,
                              const BatchNormDims& dims, Workspace workspace,
                              const Stream& stream) {
  auto* parts = static_cast<Moments*>(workspace.data);
  dispatch(dims, stream, [&](auto width, const Split& split, const Launch& config) {
    launch(moments_kernel<width>, config, parts, x, split);
    launch(normalize_kernel<width>, config, y, mean, inv_std, running_mean, running_var, parts, x,
           gamma, beta, eps, momentum, split);
  });
}

void batch_norm_backward_split(float* dx, float* dgamma, float* dbeta, const float* dy,
                               const float* x, const float* gamma, const float* mean,
                               const float* inv_std, const BatchNormDims& dims,
                               GradientMode dx_mode, GradientMode parameter_mode, bool mask,
                               Workspace workspace, const Stream& stream) {
  auto* parts = static_cast<GradientSums*>(workspace.data);
  dispatch(dims, stream, [&](auto width, const Split& split, const Launch& config) {
    launch(gradient_sums_kernel<width>, config, parts, dy, x, mean, inv_std, split);
    launch(gradient_kernel<width>, config, dx, dgamma, dbeta, parts, dy, x, gamma, mean, inv_std,
           split, dx_mode == GradientMode::accumulate, parameter_mode == GradientMode::accumulate,
           mask);
  });
}

void batch_norm_moments_split(Moments* moments, float* mean, const float* x,
                              const BatchNormDims& dims, double all, Workspace workspace,
                              const Stream& stream) {
  auto* parts = static_cast<Moments*>(workspace.data);
  dispatch(dims, stream, [&](auto width, const Split& split, const Launch& config) {
    launch(moments_kernel<width>, config, parts, x, split);
    launch(merge_moments_kernel, Launch{config.grid.y, device::kWarpSize, 0, stream}, moments, mean,
           parts, config.grid.x, all);
  });
}

void batch_norm_gradient_sums_split(float* dgamma, float* dbeta, float* means, const float* dy,
                                    const float* x, const float* mean, const float* inv_std,
                                    const BatchNormDims& dims, double all,
                                    GradientMode parameter_mode, Workspace workspace,
                                    const Stream& stream) {
  auto* parts = static_cast<GradientSums*>(workspace.data);
  dispatch(dims, stream, [&](auto width, const Split& split, const Launch& config) {
    launch(gradient_sums_kernel<width>, config, parts, dy, x, mean, inv_std, split);
    launch(merge_gradient_sums_kernel, Launch{config.grid.y, device::kWarpSize, 0, stream}, dgamma,
           dbeta, means, parts, config.grid.x, all, parameter_mode == GradientMode::accumulate);
  });
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// Batch normalisation with a cluster of 4 or 8 blocks per channel (sm_90), which keeps the channel
// in the shared memory of its blocks: x is read from memory once, and dy too.
//
//   forward    copy x to shared memory; mean; sum of (x - mean)^2; y
//   backward   copy dy and x; sum of dy and of dy xhat; dx
//
//   128 x 512 x 196, forward: 100 KB a channel, 4 blocks x 25 KB, so that 8 blocks of different
//   channels share an SM, and one channel's loads fill the time of another's sums and stores
//
// What a cluster cannot hold (8 blocks x 216 KB) it reads again. Each thread reads only what it has
// copied itself, so a copy needs no barrier. A thread sums in float, a cluster in double.
#include <algorithm>

#include "engine/launch.h"
#include "kernels/batch_norm/launchers.h"
#include "kernels/batch_norm/parts/channel.cuh"
#include "kernels/batch_norm/parts/split.cuh"
#include "kernels/device/async_copy.cuh"
#include "kernels/device/cluster.cuh"
#include "kernels/device/dynamic_shared.cuh"

namespace weft::kernels::cuda {

namespace {

// 216 KB, beside the storage of the sums.
constexpr std::int64_t kMostSharedBytes = kClusterValues * std::int64_t{sizeof(float)} / 8;
static_assert(kMostSharedBytes == 216 * 1024);

template <int kThreads, int kBlocks>
using Storage = device::ClusterReduceStorage<double, kThreads, kBlocks>;

template <int kThreads, int kBlocks>
__device__ __forceinline__ double cluster_sum(float value, Storage<kThreads, kBlocks>& storage) {
  return device::cluster_reduce<kThreads, kBlocks>(static_cast<double>(value), device::Add(),
                                                   storage);
}

// The first `count` units of this block's part of an array: in shared memory after keep() and
// async_wait(). The others are read where they lie.
template <int kWidth, int kThreads>
struct Kept {
  Unit<kWidth>* units;
  int count;
  const float* x;

  __device__ __forceinline__ void keep(const Split& split) const {
    const bool at_once = kWidth == 4 && !device::is_aligned(x, 16);
    walk<kWidth, kThreads>(split, [&](std::int64_t offset, int place) {
      if (place >= count) return;
      if (at_once) {
        units[place] = load<kWidth>(x, offset, split);
      } else if constexpr (kWidth == 4) {
        device::async_copy_16(&units[place], x + offset, true);
      } else {
        device::async_copy_float(units[place].lane, x + offset, true);
      }
    });
    device::async_commit();
  }
  __device__ __forceinline__ Unit<kWidth> read(std::int64_t offset, int place,
                                               const Split& split) const {
    return place < count ? units[place] : load<kWidth>(x, offset, split);
  }
};

template <int kWidth, int kThreads, int kBlocks>
__global__ void __launch_bounds__(kThreads, kThreads == 256 ? 8 : 1)
    forward_kernel(float* __restrict__ y, float* __restrict__ mean, float* __restrict__ inv_std,
                   float* __restrict__ running_mean, float* __restrict__ running_var,
                   const float* __restrict__ x, const float* __restrict__ gamma,
                   const float* __restrict__ beta, float eps, float momentum, Split split,
                   int kept) {
  __shared__ Storage<kThreads, kBlocks> of_sum, of_squares;
  device::cluster_arrive();
  const Kept<kWidth, kThreads> channel{device::dynamic_shared<Unit<kWidth>>(), kept, x};
  channel.keep(split);
  const auto visit = [&](const auto& use) {
    walk<kWidth, kThreads>(split, [&](std::int64_t offset, int place) {
      use(offset, channel.read(offset, place, split));
    });
  };
  device::async_wait<0>();
  device::cluster_wait();

  float sum = 0.0f;
  visit([&](std::int64_t, const Unit<kWidth>& values) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) sum += values.lane[i];
  });
  const double count = static_cast<double>(split.units) * kWidth;
  const float average = static_cast<float>(cluster_sum(sum, of_sum) / count);

  float squares = 0.0f;
  visit([&](std::int64_t, const Unit<kWidth>& values) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      squares += (values.lane[i] - average) * (values.lane[i] - average);
    }
  });
  const double total = cluster_sum(squares, of_squares);
  const float scale = static_cast<float>(1.0 / sqrt(total / count + static_cast<double>(eps)));

  const int c = static_cast<int>(blockIdx.y);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    mean[c] = average;
    inv_std[c] = scale;
    const float unbiased = static_cast<float>(total / (count - 1.0));
    device::update_running(running_mean, running_var, c, average, unbiased, momentum);
  }
  const float factor = gamma[c] * scale, shift = beta[c];
  visit([&](std::int64_t offset, Unit<kWidth> values) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) values.lane[i] = (values.lane[i] - average) * factor + shift;
    store(y, offset, split, values);
  });
}

template <int kWidth, int kThreads, int kBlocks>
__global__ void __launch_bounds__(kThreads)
    backward_kernel(float* __restrict__ dx, float* __restrict__ dgamma, float* __restrict__ dbeta,
                    const float* __restrict__ dy, const float* __restrict__ x,
                    const float* __restrict__ gamma, const float* __restrict__ mean,
                    const float* __restrict__ inv_std, Split split, int kept, bool add_dx,
                    bool add_parameters, bool mask) {
  __shared__ Storage<kThreads, kBlocks> of_dy, of_dy_hat;
  device::cluster_arrive();
  Unit<kWidth>* units = device::dynamic_shared<Unit<kWidth>>();
  const Kept<kWidth, kThreads> gradients{units, kept, dy}, channel{units + kept, kept, x};
  gradients.keep(split);
  channel.keep(split);
  const auto visit = [&](const auto& use) {
    walk<kWidth, kThreads>(split, [&](std::int64_t offset, int place) {
      use(offset, gradients.read(offset, place, split), channel.read(offset, place, split));
    });
  };
  device::async_wait<0>();
  device::cluster_wait();

  const int c = static_cast<int>(blockIdx.y);
  const float average = mean[c], scale = inv_std[c], factor = gamma[c] * scale;
  float sum = 0.0f, sum_hat = 0.0f;
  visit([&](std::int64_t, const Unit<kWidth>& gradient, const Unit<kWidth>& values) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      sum += gradient.lane[i];
      sum_hat += gradient.lane[i] * ((values.lane[i] - average) * scale);
    }
  });
  const double total = cluster_sum(sum, of_dy), total_hat = cluster_sum(sum_hat, of_dy_hat);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    device::write_parameter_gradients(dgamma, dbeta, c, total, total_hat, add_parameters);
  }
  const double count = static_cast<double>(split.units) * kWidth;
  const float mean_dy = static_cast<float>(total / count);
  const float mean_hat = static_cast<float>(total_hat / count);
  visit([&](std::int64_t offset, Unit<kWidth> gradient, const Unit<kWidth>& values) {
    write_gradient(dx, offset, split, gradient, values, {average, scale, factor, mean_dy, mean_hat},
                   add_dx, mask);
  });
}

// Calls run(width, threads, blocks, split, kept, launch), all but the last three constants, for
// `arrays` arrays that are kept.
template <class Run>
void dispatch(const BatchNormDims& dims, int arrays, const Stream& stream, const Run& run) {
  const std::int64_t bytes =
      std::int64_t{sizeof(float)} * arrays * dims.n * dims.inner;  // of a channel
  with_width(dims, [&](auto width) {
    const auto with = [&]<int kThreads, int kBlocks>(std::integral_constant<int, kThreads> threads,
                                                     std::integral_constant<int, kBlocks> blocks) {
      const Split split(dims, width, kBlocks);
      const std::int64_t unit_bytes = std::int64_t{sizeof(float)} * width * arrays;
      const auto kept =
          static_cast<int>(std::min<std::int64_t>(split.part_units, kMostSharedBytes / unit_bytes));
      const dim3 grid(blocks_for(kBlocks, 1), blocks_for(dims.c, 1));
      const Launch config{grid, kThreads, static_cast<std::size_t>(kept * unit_bytes), stream};
      run(width, threads, blocks, split, kept, config.clusters_of(kBlocks));
    };
    if (bytes <= 128 * 1024) {
      with(std::integral_constant<int, 256>(), std::integral_constant<int, 4>());
    } else if (bytes <= 512 * 1024) {
      with(std::integral_constant<int, 512>(), std::integral_constant<int, 8>());
    } else {
      with(std::integral_constant<int, 1024>(), std::integral_constant<int, 8>());
    }
  });
}

}  // namespace

void batch_norm_forward_cluster_per_channel(float* y, float* mean, float* inv_std,
                                            float* running_mean, float* running_var, const float* x,
                                            const float* gamma, const float* beta, float eps,
                                            float momentum, const BatchNormDims& dims, Workspace,
                                            const Stream& stream) {
  dispatch(dims, 1, stream,
           [&](auto width, auto threads, auto blocks, const Split& split, int kept,
               const Launch& config) {
             launch(forward_kernel<width, threads, blocks>, config, y, mean, inv_std, running_mean,
                    running_var, x, gamma, beta, eps, momentum, split, kept);
           });
}

void batch_norm_backward_cluster_per_channel(float* dx, float* dgamma, float* dbeta,
                                             const float* dy, const float* x, const float* gamma,
                                             const float* mean, const float* inv_std,
                                             const BatchNormDims& dims, GradientMode dx_mode,
                                             GradientMode parameter_mode, bool mask, Workspace,
                                             const Stream& stream) {
  dispatch(dims, 2, stream,
           [&](auto width, auto threads, auto blocks, const Split& split, int kept,
               const Launch& config) {
             launch(backward_kernel<width, threads, blocks>, config, dx, dgamma, dbeta, dy, x,
                    gamma, mean, inv_std, split, kept, dx_mode == GradientMode::accumulate,
                    parameter_mode == GradientMode::accumulate, mask);
           });
}

}  // namespace weft::kernels::cuda

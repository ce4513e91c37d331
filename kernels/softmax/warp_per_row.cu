// SPDX-License-Identifier: MIT
// A warp per row, for rows of at most 1024 columns.
//
// Lane l holds columns l, l + 32, l + 64, ... in kPerLane registers, so a row is read once and
// written once; its maximum and sum are butterfly shuffles. Columns past the end count as
// -infinity, whose exponential is 0. With 10 classes 22 lanes idle, which costs nothing: a batch
// of 256 rows is 32 blocks and the kernel is bound by the latency of one load.
//
// kPerLane = 32 needs 32 registers for the row; nothing is in shared memory.
#include <climits>
#include <type_traits>

#include "engine/launch.h"
#include "kernels/device/warp.cuh"
#include "kernels/softmax/cuda.h"

namespace weft::kernels::cuda {

namespace {

using device::kWarpSize;

constexpr int kWarps = 8;  // rows per block
constexpr int kThreads = kWarps * kWarpSize;

__device__ __forceinline__ std::int64_t warp_row() {
  return static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarpSize;
}

// Reads the columns of this lane; `filler` stands for columns past the end.
template <int kPerLane>
__device__ __forceinline__ void load_row(float (&values)[kPerLane], const float* row, int cols,
                                         float filler) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
#pragma unroll
  for (int k = 0; k < kPerLane; ++k) {
    const int c = lane + k * kWarpSize;
    values[k] = c < cols ? row[c] : filler;
  }
}

// Replaces the values by exp(value - max of the row); returns the maximum and, in `sum`, their sum.
// A NaN does not become the maximum, but makes the sum NaN.
template <int kPerLane>
__device__ __forceinline__ float exponentials(float (&values)[kPerLane], float& sum) {
  float max = values[0];
#pragma unroll
  for (int k = 1; k < kPerLane; ++k) max = fmaxf(max, values[k]);
  max = device::warp_reduce(max, device::MaxNumber());
  sum = 0.0f;
#pragma unroll
  for (int k = 0; k < kPerLane; ++k) {
    values[k] = expf(values[k] - max);
    sum += values[k];
  }
  sum = device::warp_reduce(sum, device::Add());
  return max;
}

// The lowest column that holds `max`; 0 when none does, as all are NaN.
template <int kPerLane>
__device__ __forceinline__ int column_of(float max, const float (&values)[kPerLane], int cols) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  int best = INT_MAX;
#pragma unroll
  for (int k = kPerLane - 1; k >= 0; --k) {
    const int c = lane + k * kWarpSize;
    if (c < cols && values[k] == max) best = c;
  }
  best = device::warp_reduce(best, device::MinInt());
  return best == INT_MAX ? 0 : best;
}

template <int kPerLane>
__global__ void __launch_bounds__(kThreads)
    forward_kernel(float* __restrict__ y, const float* __restrict__ x, std::int64_t rows,
                   int cols) {
  const std::int64_t row = warp_row();
  if (row >= rows) return;  // the whole warp leaves; there is no block barrier
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  float values[kPerLane], sum;
  load_row(values, x + row * cols, cols, -INFINITY);
  exponentials(values, sum);
  const float inverse = 1.0f / sum;
#pragma unroll
  for (int k = 0; k < kPerLane; ++k) {
    const int c = lane + k * kWarpSize;
    if (c < cols) y[row * cols + c] = values[k] * inverse;
  }
}

template <int kPerLane>
__global__ void __launch_bounds__(kThreads)
    backward_kernel(float* __restrict__ dx, const float* __restrict__ dy,
                    const float* __restrict__ y, std::int64_t rows, int cols, bool accumulate) {
  const std::int64_t row = warp_row();
  if (row >= rows) return;  // the whole warp leaves; there is no block barrier
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  float gradient[kPerLane], probability[kPerLane];
  load_row(gradient, dy + row * cols, cols, 0.0f);
  load_row(probability, y + row * cols, cols, 0.0f);
  float dot = 0.0f;
#pragma unroll
  for (int k = 0; k < kPerLane; ++k) dot += gradient[k] * probability[k];
  dot = device::warp_reduce(dot, device::Add());
#pragma unroll
  for (int k = 0; k < kPerLane; ++k) {
    const int c = lane + k * kWarpSize;
    if (c >= cols) continue;
    const float value = probability[k] * (gradient[k] - dot);
    float& out = dx[row * cols + c];
    out = accumulate ? out + value : value;
  }
}

template <int kPerLane>
__global__ void __launch_bounds__(kThreads)
    cross_entropy_kernel(float* __restrict__ loss, float* __restrict__ dx,
                         std::int32_t* __restrict__ prediction, const float* __restrict__ x,
                         const std::int32_t* __restrict__ labels, float scale, std::int64_t rows,
                         int cols) {
  const std::int64_t row = warp_row();
  if (row >= rows) return;  // the whole warp leaves; there is no block barrier
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int label = labels[row];
  const bool valid = label >= 0 && label < cols;
  const float logit = valid ? x[row * cols + label] : NAN;
  float values[kPerLane], raw[kPerLane], sum;
  load_row(raw, x + row * cols, cols, -INFINITY);
#pragma unroll
  for (int k = 0; k < kPerLane; ++k) values[k] = raw[k];
  const float max = exponentials(values, sum);
  const int best = column_of(max, raw, cols);
  if (lane == 0) {
    if (loss != nullptr) loss[row] = logf(sum) - (logit - max);
    if (prediction != nullptr) prediction[row] = best;
  }
  if (dx == nullptr) return;
  const float factor = valid ? scale / sum : NAN;
#pragma unroll
  for (int k = 0; k < kPerLane; ++k) {
    const int c = lane + k * kWarpSize;
    if (c < cols) dx[row * cols + c] = factor * values[k] - (c == label ? scale : 0.0f);
  }
}

// Calls run(integral_constant<int, kPerLane>) with the fewest registers that hold a row.
template <class Run>
void with_per_lane(std::int64_t cols, Run run) {
  if (cols <= 32) return run(std::integral_constant<int, 1>());
  if (cols <= 64) return run(std::integral_constant<int, 2>());
  if (cols <= 128) return run(std::integral_constant<int, 4>());
  if (cols <= 256) return run(std::integral_constant<int, 8>());
  if (cols <= 512) return run(std::integral_constant<int, 16>());
  static_assert(kWarpColumns == 32 * kWarpSize, "the last case must cover the longest row");
  run(std::integral_constant<int, 32>());
}

}  // namespace

void softmax_forward_warp(float* y, const float* x, std::int64_t rows, std::int64_t cols,
                          const Stream& stream) {
  const Launch config{blocks_for(rows, kWarps), kThreads, 0, stream};
  with_per_lane(cols, [&](auto per_lane) {
    launch(forward_kernel<decltype(per_lane)::value>, config, y, x, rows, static_cast<int>(cols));
  });
}

void softmax_backward_warp(float* dx, const float* dy, const float* y, std::int64_t rows,
                           std::int64_t cols, GradientMode mode, const Stream& stream) {
  const Launch config{blocks_for(rows, kWarps), kThreads, 0, stream};
  with_per_lane(cols, [&](auto per_lane) {
    launch(backward_kernel<decltype(per_lane)::value>, config, dx, dy, y, rows,
           static_cast<int>(cols), mode == GradientMode::accumulate);
  });
}

void softmax_cross_entropy_warp(float* loss, float* dx, std::int32_t* prediction, const float* x,
                                const std::int32_t* labels, float scale, std::int64_t rows,
                                std::int64_t cols, const Stream& stream) {
  const Launch config{blocks_for(rows, kWarps), kThreads, 0, stream};
  with_per_lane(cols, [&](auto per_lane) {
    launch(cross_entropy_kernel<decltype(per_lane)::value>, config, loss, dx, prediction, x, labels,
           scale, rows, static_cast<int>(cols));
  });
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// Maximum and sum in one pass over the row, then the output in another: two walks where three_pass
// needs three, for rows of any length.
//
//   max' = max(max, x)      sum' = sum * exp(max - max') + exp(x - max')
//
// Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018. Every thread keeps a
// maximum and a sum of its own columns and takes kInFlight of them at a time: one correction for
// all of them, and as many loads in flight. At the end the block agrees on the maximum, and each
// thread brings its sum to it.
//
// The second walk is served by the L2 cache while the rows in flight fit it: long rows get blocks
// of 1024 threads, two to an SM. Stores are marked as streaming, so as not to push rows out.
#include <climits>
#include <type_traits>

#include "engine/launch.h"
#include "kernels/device/block.cuh"
#include "kernels/softmax/launchers.h"
#include "kernels/softmax/parts/target.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kInFlight = 8;
constexpr std::int64_t kShortRow = 4096;  // columns up to which blocks have 256 threads

template <int kThreads>
struct Storage {
  device::BlockReduceStorage<float, kThreads> values;
  device::BlockReduceStorage<int, kThreads> columns;
};

// Calls run(first) for the columns first, first + kThreads, ... of this thread, kInFlight at a
// time.
template <int kThreads, class Run>
__device__ __forceinline__ void walk(int cols, Run run) {
  constexpr std::int64_t kStep = static_cast<std::int64_t>(kInFlight) * kThreads;
  for (std::int64_t first = threadIdx.x; first < cols; first += kStep) run(first);
}

template <int kThreads>
__device__ __forceinline__ void load_columns(float (&values)[kInFlight], const float* x,
                                             std::int64_t first, int cols, float filler) {
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    const std::int64_t c = first + k * kThreads;
    values[k] = c < cols ? x[c] : filler;
  }
}

// exp(x - max), where a maximum of -infinity stands for "no value yet".
__device__ __forceinline__ float exp_below(float x, float max) {
  return expf(x - (max == -INFINITY ? 0.0f : max));
}

struct Normalizer {
  float max, sum;  // of the row
  int column;      // the lowest that holds the maximum, 0 when all are NaN; if asked for
};

template <int kThreads, bool kWithColumn>
__device__ __forceinline__ Normalizer normalizer(const float* x, int cols,
                                                 Storage<kThreads>& storage) {
  float max = -INFINITY, sum = 0.0f;
  int column = INT_MAX;
  walk<kThreads>(cols, [&](std::int64_t first) {
    const float before = max;
    float values[kInFlight];
    load_columns<kThreads>(values, x, first, cols, -INFINITY);
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const std::int64_t c = first + k * kThreads;
      // Columns rise, so the first of equal values stays. A NaN is never taken.
      if (kWithColumn && (values[k] > max || (values[k] == max && column == INT_MAX && c < cols))) {
        column = static_cast<int>(c);
      }
      max = fmaxf(max, values[k]);
    }
    sum *= exp_below(before, max);
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) sum += exp_below(values[k], max);
  });
  Normalizer row{};
  row.max = device::block_reduce<kThreads>(max, device::MaxNumber(), storage.values);
  sum *= exp_below(max, row.max);
  row.sum = device::block_reduce<kThreads>(sum, device::Add(), storage.values);
  if (kWithColumn) {
    column = device::block_reduce<kThreads>(max == row.max ? column : INT_MAX, device::MinInt(),
                                            storage.columns);
    row.column = column == INT_MAX ? 0 : column;
  }
  return row;
}

template <int kThreads>
__global__ void __launch_bounds__(kThreads)
    forward_kernel(float* __restrict__ y, const float* __restrict__ x, int cols) {
  __shared__ Storage<kThreads> storage;
  const float* in = x + static_cast<std::int64_t>(blockIdx.x) * cols;
  float* out = y + static_cast<std::int64_t>(blockIdx.x) * cols;
  const Normalizer row = normalizer<kThreads, false>(in, cols, storage);
  const float inverse = 1.0f / row.sum;
  walk<kThreads>(cols, [&](std::int64_t first) {
    float values[kInFlight];
    load_columns<kThreads>(values, in, first, cols, 0.0f);
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const std::int64_t c = first + k * kThreads;
      if (c < cols) __stcs(out + c, expf(values[k] - row.max) * inverse);
    }
  });
}

template <int kThreads>
__global__ void __launch_bounds__(kThreads)
    backward_kernel(float* __restrict__ dx, const float* __restrict__ dy,
                    const float* __restrict__ y, int cols, bool accumulate) {
  __shared__ Storage<kThreads> storage;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * cols;
  float dot = 0.0f;
  walk<kThreads>(cols, [&](std::int64_t first) {
    float gradient[kInFlight], probability[kInFlight];
    load_columns<kThreads>(gradient, dy + row, first, cols, 0.0f);
    load_columns<kThreads>(probability, y + row, first, cols, 0.0f);
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) dot += gradient[k] * probability[k];
  });
  dot = device::block_reduce<kThreads>(dot, device::Add(), storage.values);
  walk<kThreads>(cols, [&](std::int64_t first) {
    float gradient[kInFlight], probability[kInFlight];
    load_columns<kThreads>(gradient, dy + row, first, cols, 0.0f);
    load_columns<kThreads>(probability, y + row, first, cols, 0.0f);
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const std::int64_t c = first + k * kThreads;
      if (c >= cols) continue;
      const float value = probability[k] * (gradient[k] - dot);
      __stcs(dx + row + c, accumulate ? dx[row + c] + value : value);
    }
  });
}

template <int kThreads>
__global__ void __launch_bounds__(kThreads)
    cross_entropy_kernel(float* __restrict__ loss, float* __restrict__ dx,
                         std::int32_t* __restrict__ prediction, const float* __restrict__ x,
                         const std::int32_t* __restrict__ labels, float scale, float smoothing,
                         int cols) {
  __shared__ Storage<kThreads> storage;
  const float* in = x + static_cast<std::int64_t>(blockIdx.x) * cols;
  const int label = labels[blockIdx.x];
  const bool valid = label >= 0 && label < cols;
  const Normalizer row = normalizer<kThreads, true>(in, cols, storage);
  if (threadIdx.x == 0) {
    if (prediction != nullptr) prediction[blockIdx.x] = row.column;
    if (loss != nullptr) {
      loss[blockIdx.x] = logf(row.sum) - ((valid ? in[label] : NAN) - row.max);
    }
  }
  if (dx == nullptr) return;
  float* out = dx + static_cast<std::int64_t>(blockIdx.x) * cols;
  const float factor = valid ? scale / row.sum : NAN;
  const Target target(scale, smoothing, cols);
  walk<kThreads>(cols, [&](std::int64_t first) {
    float values[kInFlight];
    load_columns<kThreads>(values, in, first, cols, 0.0f);
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const std::int64_t c = first + k * kThreads;
      if (c >= cols) continue;
      __stcs(out + c,
             factor * expf(values[k] - row.max) - (c == label ? target.label : target.other));
    }
  });
}

// Calls run(integral_constant<int, kThreads>).
template <class Run>
void with_threads(std::int64_t cols, Run run) {
  if (cols <= kShortRow) return run(std::integral_constant<int, 256>());
  run(std::integral_constant<int, 1024>());
}

}  // namespace

void softmax_forward_online(float* y, const float* x, std::int64_t rows, std::int64_t cols,
                            const Stream& stream) {
  with_threads(cols, [&](auto threads) {
    launch(forward_kernel<threads.value>, Launch{blocks_for(rows, 1), threads.value, 0, stream}, y,
           x, static_cast<int>(cols));
  });
}

void softmax_backward_online(float* dx, const float* dy, const float* y, std::int64_t rows,
                             std::int64_t cols, GradientMode mode, const Stream& stream) {
  with_threads(cols, [&](auto threads) {
    launch(backward_kernel<threads.value>, Launch{blocks_for(rows, 1), threads.value, 0, stream},
           dx, dy, y, static_cast<int>(cols), mode == GradientMode::accumulate);
  });
}

void softmax_cross_entropy_online(float* loss, float* dx, std::int32_t* prediction, const float* x,
                                  const std::int32_t* labels, float scale, float smoothing,
                                  std::int64_t rows, std::int64_t cols, const Stream& stream) {
  with_threads(cols, [&](auto threads) {
    launch(cross_entropy_kernel<threads.value>,
           Launch{blocks_for(rows, 1), threads.value, 0, stream}, loss, dx, prediction, x, labels,
           scale, smoothing, static_cast<int>(cols));
  });
}

}  // namespace weft::kernels::cuda

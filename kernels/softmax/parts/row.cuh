// SPDX-License-Identifier: MIT
// Softmax of one row that a group of threads keeps in registers: what warp_per_row, block_per_row
// and cluster_per_row have in common.
//
//   thread t of T holds columns   t   t + T   t + 2T   ...        in kPerThread registers
//
// so that a warp reads 32 neighbours at a time, at any alignment, with kPerThread loads in flight
// per thread. The row is read once and written once. Columns past the end count as -infinity, whose
// exponential is 0.
//
// A Group has rank() and size() of its threads, and max(float), sum(float) and lowest(int) over
// them, each called at most once. All its threads call these functions.
#pragma once

#include <climits>
#include <cstdint>

#include "kernels/softmax/parts/target.cuh"

namespace weft::kernels::cuda {

// The columns of this thread of a row at `x`; `filler` stands for columns past the end.
template <int kPerThread, class Group>
__device__ __forceinline__ void load_row(float (&values)[kPerThread], const float* x, int cols,
                                         float filler, const Group& group) {
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    const int c = group.rank() + k * group.size();
    values[k] = c < cols ? x[c] : filler;
  }
}

// A NaN does not become the maximum; it reaches the result through the sum.
template <int kPerThread, class Group>
__device__ __forceinline__ float row_max(const float (&values)[kPerThread], Group& group) {
  float max = values[0];
#pragma unroll
  for (int k = 1; k < kPerThread; ++k) max = fmaxf(max, values[k]);
  return group.max(max);
}

// Replaces the values by exp(value - max); returns their sum.
template <int kPerThread, class Group>
__device__ __forceinline__ float exponentials(float (&values)[kPerThread], float max,
                                              Group& group) {
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    values[k] = expf(values[k] - max);
    sum += values[k];
  }
  return group.sum(sum);
}

// The lowest column that holds `max`; 0 when none does, as all are NaN.
template <int kPerThread, class Group>
__device__ __forceinline__ int column_of(float max, const float (&values)[kPerThread], int cols,
                                         Group& group) {
  int best = INT_MAX;
#pragma unroll
  for (int k = kPerThread - 1; k >= 0; --k) {
    const int c = group.rank() + k * group.size();
    if (c < cols && values[k] == max) best = c;
  }
  best = group.lowest(best);
  return best == INT_MAX ? 0 : best;
}

template <int kPerThread, class Group>
__device__ __forceinline__ void forward_row(float* y, const float* x, int cols, Group& group) {
  float values[kPerThread];
  load_row(values, x, cols, -INFINITY, group);
  const float max = row_max(values, group);
  const float inverse = 1.0f / exponentials(values, max, group);
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    const int c = group.rank() + k * group.size();
    if (c < cols) y[c] = values[k] * inverse;
  }
}

template <int kPerThread, class Group>
__device__ __forceinline__ void backward_row(float* dx, const float* dy, const float* y, int cols,
                                             bool accumulate, Group& group) {
  float gradient[kPerThread], probability[kPerThread];
  load_row(gradient, dy, cols, 0.0f, group);
  load_row(probability, y, cols, 0.0f, group);
  float dot = 0.0f;
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) dot += gradient[k] * probability[k];
  dot = group.sum(dot);
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    const int c = group.rank() + k * group.size();
    if (c >= cols) continue;
    const float value = probability[k] * (gradient[k] - dot);
    dx[c] = accumulate ? dx[c] + value : value;
  }
}

// loss, prediction: of this row, or null; dx: the row, or null.
template <int kPerThread, class Group>
__device__ __forceinline__ void cross_entropy_row(float* loss, float* dx, std::int32_t* prediction,
                                                  const float* x, int label, float scale, int cols,
                                                  Group& group, float smoothing = 0.0f) {
  const bool valid = label >= 0 && label < cols;
  const float logit = valid ? x[label] : NAN;
  float values[kPerThread];
  load_row(values, x, cols, -INFINITY, group);
  const float max = row_max(values, group);
  if (prediction != nullptr) {
    const int best = column_of(max, values, cols, group);
    if (group.rank() == 0) *prediction = best;
  }
  const float sum = exponentials(values, max, group);
  if (loss != nullptr && group.rank() == 0) *loss = logf(sum) - (logit - max);
  if (dx == nullptr) return;
  const float factor = valid ? scale / sum : NAN;
  const Target target(scale, smoothing, cols);
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    const int c = group.rank() + k * group.size();
    if (c < cols) dx[c] = factor * values[k] - (c == label ? target.label : target.other);
  }
}

}  // namespace weft::kernels::cuda

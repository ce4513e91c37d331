// SPDX-License-Identifier: MIT
// Softmax and cross-entropy of logits of which a few lanes have a row.
#pragma once

#include "kernels/device/warp.cuh"
#include "kernels/networks/mlp/parts/arguments.h"
#include "kernels/softmax/parts/target.cuh"

namespace weft::kernels::fused_mlp {

// Over the kLanes neighbours that have a row.
template <int kLanes, class T, class Op>
__device__ __forceinline__ T row_reduce(T value, Op op) {
#pragma unroll
  for (int apart = 1; apart < kLanes; apart *= 2) {
    value = op(value, __shfl_xor_sync(device::kFullWarp, value, apart));
  }
  return value;
}

// Logits of a row, kCount in each of kLanes lanes, to their gradient; a lane has the classes
// `column`. Returns the loss; *hit says whether the label has the largest, the first of equals. A
// label that is none of the classes makes all of it NaN.
template <int kLanes, int kCount>
__device__ __forceinline__ float compare(float (&value)[kCount], const int (&column)[kCount],
                                         int label, const Training& t, int* hit) {
  float max = -INFINITY, right = 0.0f;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (column[i] >= t.classes) continue;
    max = fmaxf(max, value[i]);
    if (column[i] == label) right = value[i];
  }
  max = row_reduce<kLanes>(max, device::MaxNumber());
  int best = t.classes;
  float sum = 0.0f, power[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const bool there = column[i] < t.classes;
    power[i] = there ? expf(value[i] - max) : 0.0f;
    sum += power[i];
    if (there && value[i] == max) best = min(best, column[i]);
  }
  sum = row_reduce<kLanes>(sum, device::Add());
  *hit = row_reduce<kLanes>(best, device::MinInt()) == label ? 1 : 0;
  const float scale = 1.0f / static_cast<float>(t.rows), inverse = scale / sum;
  const cuda::Target target(scale, t.label_smoothing, t.classes);
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const float wanted = column[i] == label ? target.label : target.other;
    value[i] = column[i] < t.classes ? power[i] * inverse - wanted : 0.0f;
  }
  right = row_reduce<kLanes>(right, device::Add());
  if (label >= 0 && label < t.classes) return logf(sum) - (right - max);
#pragma unroll
  for (float& one : value) one = NAN;
  return NAN;
}

}  // namespace weft::kernels::fused_mlp

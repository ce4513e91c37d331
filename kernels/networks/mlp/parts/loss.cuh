// SPDX-License-Identifier: MIT
// Softmax and cross-entropy of logits of which a few lanes have a row.
#pragma once

#include "kernels/networks/mlp/parts/arguments.h"
#include "kernels/softmax/parts/target.cuh"

namespace weft::kernels::fused_mlp {

// Of the kLanes lanes that have a row.
template <int kLanes, class Value, class Operation>
__device__ __forceinline__ Value row_reduce(Value value, const Operation& operation) {
#pragma unroll
  for (int apart = 1; apart < kLanes; apart *= 2) {
    value = operation(value, __shfl_xor_sync(0xffffffff, value, apart));
  }
  return value;
}

// Logits of a row, kCount in each of kLanes lanes, to their gradient; a lane has the classes
// `column`. Returns the loss; *hit says whether the label has the largest, the first of equals. A
// label that is none of the classes makes all of it NaN.
template <int kLanes, int kCount>
__device__ __forceinline__ float compare(float (&value)[kCount], const int (&column)[kCount],
                                         int label, const Training& t, int* hit) {
  const auto larger = [](float a, float b) { return fmaxf(a, b); };
  const auto smaller = [](int a, int b) { return min(a, b); };
  const auto plus = [](float a, float b) { return a + b; };
  float max = -INFINITY, right = 0.0f;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (column[i] >= t.classes) continue;
    max = fmaxf(max, value[i]);
    if (column[i] == label) right = value[i];
  }
  max = row_reduce<kLanes>(max, larger);
  int best = t.classes;
  float sum = 0.0f, power[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const bool there = column[i] < t.classes;
    power[i] = there ? expf(value[i] - max) : 0.0f;
    sum += power[i];
    if (there && value[i] == max) best = min(best, column[i]);
  }
  sum = row_reduce<kLanes>(sum, plus);
  *hit = row_reduce<kLanes>(best, smaller) == label ? 1 : 0;
  const float scale = 1.0f / static_cast<float>(t.rows), inverse = scale / sum;
  const cuda::Target target(scale, t.label_smoothing, t.classes);
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const float wanted = column[i] == label ? target.label : target.other;
    value[i] = column[i] < t.classes ? power[i] * inverse - wanted : 0.0f;
  }
  right = row_reduce<kLanes>(right, plus);
  if (label >= 0 && label < t.classes) return logf(sum) - (right - max);
#pragma unroll
  for (float& one : value) one = NAN;
  return NAN;
}

}  // namespace weft::kernels::fused_mlp

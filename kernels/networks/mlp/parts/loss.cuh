// SPDX-License-Identifier: MIT
// Softmax and cross-entropy of logits in the fragments of mma.sync: four lanes have a row.
#pragma once

#include "kernels/networks/mlp/parts/arguments.h"
#include "kernels/softmax/parts/target.cuh"

namespace weft::kernels::fused_mlp {

// Which logits a lane has of its row, and of the row eight below.
__device__ __forceinline__ int class_of(int member, int i) {
  return i / 2 * 8 + 2 * member + i % 2;
}

__device__ __forceinline__ float largest(float value) {
  value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, 1));
  return fmaxf(value, __shfl_xor_sync(0xffffffff, value, 2));
}
__device__ __forceinline__ float total(float value) {
  value += __shfl_xor_sync(0xffffffff, value, 1);
  return value + __shfl_xor_sync(0xffffffff, value, 2);
}
__device__ __forceinline__ int smallest(int value) {
  value = min(value, __shfl_xor_sync(0xffffffff, value, 1));
  return min(value, __shfl_xor_sync(0xffffffff, value, 2));
}

// Logits of a row, four in each of four lanes, to their gradient. Returns the loss; *hit says
// whether the label has the largest, the first of equals. A label that is none of the classes makes
// all of it NaN.
__device__ __forceinline__ float compare(float (&value)[4], int member, int label,
                                         const Training& t, int* hit) {
  int column[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) column[i] = class_of(member, i);
  float max = -INFINITY, right = 0.0f;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (column[i] >= t.classes) continue;
    max = fmaxf(max, value[i]);
    if (column[i] == label) right = value[i];
  }
  max = largest(max);
  int best = t.classes;
  float sum = 0.0f, power[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const bool there = column[i] < t.classes;
    power[i] = there ? expf(value[i] - max) : 0.0f;
    sum += power[i];
    if (there && value[i] == max) best = min(best, column[i]);
  }
  sum = total(sum);
  *hit = smallest(best) == label ? 1 : 0;
  const float scale = 1.0f / static_cast<float>(t.rows), inverse = scale / sum;
  const cuda::Target target(scale, t.label_smoothing, t.classes);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float wanted = column[i] == label ? target.label : target.other;
    value[i] = column[i] < t.classes ? power[i] * inverse - wanted : 0.0f;
  }
  right = total(right);
  if (label >= 0 && label < t.classes) return logf(sum) - (right - max);
#pragma unroll
  for (float& one : value) one = NAN;
  return NAN;
}

}  // namespace weft::kernels::fused_mlp

// SPDX-License-Identifier: MIT
// What the kernels of the backward pass share in both formats: the maps of the operands, ReLU's
// mask, and softmax with cross-entropy of logits of which a few lanes have a row.
#pragma once

#include <cstring>

#include "engine/cuda/tensor_map.h"
#include "kernels/device/mma.cuh"
#include "kernels/device/warp.cuh"
#include "kernels/networks/mlp/parts/product.cuh"
#include "kernels/softmax/parts/target.cuh"

namespace weft::kernels::fused_mlp {

constexpr int kMostChunks = kMostHidden / kSide;
constexpr int kLastBytes = kMostClasses * 128;  // of a box of the last layer's weights

struct BackwardMaps {
  CUtensorMap h2, w2, w3;

  template <class Element>
  BackwardMaps(const Exchange<Element>& e, const Training& t)
      : h2(operand_map(e.h2, t.rows, e.kParts * t.hidden2, e.pitch2)),
        w2(operand_map(e.w2, t.hidden2, e.kParts * t.hidden1, e.kParts * t.hidden1)),
        w3(operand_map(e.w3, t.classes, e.kParts * t.hidden2, e.kParts * t.hidden2, kMostClasses)) {
  }
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

__device__ __forceinline__ void prefetch_maps(const BackwardMaps& maps) {
  device::tma_prefetch(maps.h2);
  device::tma_prefetch(maps.w3);
  device::tma_prefetch(maps.w2);
}

// Where a thread stands in its team of four warps, and in the fragments of its warp: it has
// elements of rows `row` and row + 8 of 64.
struct TeamThread {
  int team, thread, lane, group, member, row;

  __device__ __forceinline__ TeamThread()
      : team(static_cast<int>(threadIdx.x) / kConsumers),
        thread(static_cast<int>(threadIdx.x) % kConsumers),
        lane(thread % 32),
        group(lane / 4),
        member(lane % 4),
        row(thread / 32 * 16 + group) {}
};

// Where a lane of a fragment finds the first of four steps along k, and the others: of h2, of w3,
// and of w3 transposed, whose steps are those of h2.
struct FragmentPlaces {
  const char *h2, *w3, *w3_transposed;
  int along_h2[4], along_w3[4];

  __device__ __forceinline__ FragmentPlaces(const char* h2_box, const char* w3_box,
                                            const TeamThread& at) {
    const int lane = at.lane, matrix_row = lane % 8 + lane / 8 % 2 * 8;
    h2 = h2_box + (at.thread / 32 * 16 + matrix_row) * 128;
    w3 = w3_box + (lane / 16 * 8 + lane % 8) * 128;
    w3_transposed = w3_box + matrix_row * 128;
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      along_h2[step] = (2 * step + lane / 16 ^ lane % 8) * 16;
      along_w3[step] = (2 * step + lane / 8 % 2 ^ lane % 8) * 16;
    }
  }
};

// 0xffff for each of the two values that is above zero. Pair: __nv_bfloat162 or __half2.
template <class Pair>
__device__ __forceinline__ std::uint32_t above_zero(std::uint32_t pair) {
  Pair values;
  std::memcpy(&values, &pair, sizeof(values));
  return __hgt2_mask(values, Pair{});
}

// Keeps the sums of a thread where h1 is above zero.
template <class Pair>
__device__ __forceinline__ void mask_sums(float (&sum)[kSide / 2],
                                          const std::uint32_t (&h1)[2][8]) {
#pragma unroll
  for (int i = 0; i < kSide / 2; ++i) {
    const std::uint32_t keep = above_zero<Pair>(h1[i / 2 % 2][i / 4]);
    if ((i % 2 == 0 ? keep & 0xffff : keep >> 16) == 0) sum[i] = 0.0f;
  }
}

#endif

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

// SPDX-License-Identifier: MIT
// Convolution, bias, ReLU and 2 x 2 max pooling of the images of a block, from shared memory to
// shared memory.
//
// A thread computes one window of the pooling for kPerThread filters, so that the four values that
// compete never leave its registers:
//
//        rows 2u + r, 2u + r + 1      kKernel + 1 values each; a row is loaded once, as pairs,
//        o  o  o  o  o  o             and serves as the lower row of one r and the upper of the
//        o  o  o  o  o  o             next: 4 kPerThread products for kPerThread weights
//
// Where there are too few windows for all threads, kSplit neighbouring lanes share the channels.
#pragma once

#include "engine/extent.h"
#include "kernels/conv_relu_pool/conv_relu_pool.h"
#include "kernels/device/async_copy.cuh"
#include "kernels/device/fold.cuh"
#include "kernels/device/register_tile.cuh"
#include "kernels/networks/cnn/parts/network.h"
#include "kernels/networks/cnn/parts/thread.cuh"

namespace weft::kernels::fused_cnn {

// Starts to copy weights (filter, channel, tap) to (channel, tap, filter). Eight filters of four
// taps go at a time, which keeps both the sectors read and the bank conflicts few.
template <class Conv>
__device__ __forceinline__ void stage_filters(float* staged, const float* weights) {
  constexpr int kGroups = divide_up(Conv::kFilters, 8);
  constexpr int kItems = divide_up(Conv::kFilter, 4) * kGroups * 32;
  for (int i = thread_id(); i < kItems; i += kThreads) {
    const int filter = i / 32 % kGroups * 8 + i % 8;
    const int tap = i / 32 / kGroups * 4 + i / 8 % 4;
    if (filter < Conv::kFilters && tap < Conv::kFilter) {
      device::async_copy_float(staged + tap * Conv::kWeightStride + filter,
                               weights + filter * Conv::kFilter + tap, true);
    }
  }
}

// Filters of a thread: as many as leave work for three quarters of the threads.
WEFT_HOST_DEVICE constexpr int filters_per_thread(int filters, int items_per_filter) {
  for (const int count : {8, 6, 4, 2}) {
    if (filters % count == 0 && filters / count * items_per_filter >= 3 * kThreads / 4)
      return count;
  }
  return filters % 2 == 0 ? 2 : 1;
}

// Planes without a border, one window after the other: what a linear layer reads.
template <class Conv>
struct FlatMaps {
  static constexpr int kPad = 0, kPitch = Conv::kOutWidth, kPlane = Conv::kWindows;
  static constexpr int kMaps = Conv::kOutputs;
};

// One row of a window and its neighbours, kKernel + 1 values.
template <int kWidth>
__device__ __forceinline__ void load_pairs(float (&row)[kWidth], const float* from) {
  device::load_fragment<kWidth, 2, 2>(row, from);
}

// y (kImages, Out::kMaps) and code (kImages, Conv::kOutputs), which is the argmax or kReluPoolCut
// as in conv_relu_pool.h, from x (kImages, Conv::kMaps). All threads call it; barriers around it
// are the caller's.
template <class Conv, class Out, int kImages>
__device__ __forceinline__ void conv_relu_pool(float* y, std::uint8_t* code, const float* x,
                                               const float* staged, const float* bias) {
  constexpr int kSplit = Conv::kInputs % 2 == 0 ? 2 : 1;
  constexpr int kPerThread = filters_per_thread(Conv::kFilters, kImages * Conv::kWindows * kSplit);
  constexpr int kItems = kImages * Conv::kWindows * (Conv::kFilters / kPerThread) * kSplit;
  constexpr int kWidth = Conv::kKernel + 1, kKept = kPerThread / kSplit;
  constexpr int kVector = kPerThread % 4 == 0 ? 4 : kPerThread % 2 == 0 ? 2 : 1;
  static_assert(kPerThread % kSplit == 0, "lanes that share channels end with whole filters");

  for (int item = thread_id(); item < round_up(kItems, 32); item += kThreads) {
    const int place = item < kItems ? item : kItems - kSplit + item % kSplit;
    const int split = place % kSplit, window = place / kSplit % Conv::kWindows;
    const int image = place / kSplit / Conv::kWindows % kImages;
    const int filter = place / (kSplit * Conv::kWindows * kImages) * kPerThread;
    const int row = window / Conv::kOutWidth, column = window % Conv::kOutWidth;
    const int first = filter + split * kKept;  // of the filters that this lane ends with
    float offset[kKept];
#pragma unroll
    for (int f = 0; f < kKept; ++f) offset[f] = bias[first + f];

    float sum[kPerThread * 4] = {};  // (filter, position in the window)
    const int c0 = split * (Conv::kInputs / kSplit);
    const float* corner =
        x + image * Conv::kMaps + c0 * Conv::kPlane + 2 * row * Conv::kPitch + 2 * column;
    const float* taps = staged + c0 * Conv::kTaps * Conv::kWeightStride + filter;
#pragma unroll 1
    for (int c = 0; c < Conv::kInputs / kSplit; ++c, corner += Conv::kPlane) {
      float upper[kWidth], lower[kWidth];
      load_pairs(upper, corner);
      // Not unrolled: code that a step executes once is fetched through the L2 cache, which fc1's
      // weights keep busy at the same time. A loop is fetched once for all its turns.
#pragma unroll 1
      for (int r = 0; r < Conv::kKernel; ++r) {
        load_pairs(lower, corner + (r + 1) * Conv::kPitch);
#pragma unroll
        for (int s = 0; s < Conv::kKernel; ++s) {
          float weight[kPerThread];
          device::load_fragment<kPerThread, kVector, kVector>(
              weight, taps + (r * Conv::kKernel + s) * Conv::kWeightStride);
#pragma unroll
          for (int f = 0; f < kPerThread; ++f) {
            sum[4 * f] += upper[s] * weight[f];
            sum[4 * f + 1] += upper[s + 1] * weight[f];
            sum[4 * f + 2] += lower[s] * weight[f];
            sum[4 * f + 3] += lower[s + 1] * weight[f];
          }
        }
#pragma unroll
        for (int i = 0; i < kWidth; ++i) upper[i] = lower[i];
      }
      taps += Conv::kTaps * Conv::kWeightStride;
    }
    device::fold<kSplit / 2, 1>(sum);
    if (item >= kItems) continue;
#pragma unroll
    for (int f = 0; f < kKept; ++f) {
      float best = sum[4 * f] + offset[f];
      int index = 0;
#pragma unroll
      for (int i = 1; i < 4; ++i) {
        const float value = sum[4 * f + i] + offset[f];
        // The first NaN wins and stays; of equal values the first stays.
        if (!(value <= best) && best == best) best = value, index = i;
      }
      y[image * Out::kMaps + (first + f) * Out::kPlane + (row + Out::kPad) * Out::kPitch + column +
        Out::kPad] = best < 0.0f ? 0.0f : best;
      code[image * Conv::kOutputs + (first + f) * Conv::kWindows + window] =
          best > 0.0f ? static_cast<std::uint8_t>(index) : kReluPoolCut;
    }
  }
}

}  // namespace weft::kernels::fused_cnn

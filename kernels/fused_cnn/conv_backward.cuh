// SPDX-License-Identifier: MIT
// Gradients of the two convolutions for the images of a block, all in shared memory.
//
// Behind max pooling one position of four has a gradient, and none where ReLU cut the window, so
// the gradients are lists of spikes: a value and the place where it belongs.
//
//   filters of conv2   a warp owns a filter and its 150 weights, in registers: it walks down its
//                      list and adds gradient x the 5 x 5 x 6 values of y1 at the place. With the
//                      channels last, a row of those is 30 neighbours, one for each lane.
//   data of conv2      a warp owns a position of a window: its column is the sum of gradient x 150
//                      weights over the filters that it won; then each element of y1 gathers
//                      what the columns say about it, in a fixed order.
//   filters of conv1   a warp owns a part of a plane of y1: it gathers the part's gradient, leaves
//                      the spikes of it in a list, and walks down that, a lane for each of 25 taps.
#pragma once

#include "kernels/conv/fused_relu_pool.h"
#include "kernels/device/warp.cuh"
#include "kernels/fused_cnn/network.h"
#include "kernels/fused_cnn/thread.cuh"

namespace weft::kernels::fused_cnn {

// Appends the spikes of the lanes that have one, in the order of the lanes. All lanes call it.
__device__ __forceinline__ void append(Spike* list, int& count, const Spike& spike, bool there) {
  const unsigned lanes = __ballot_sync(device::kFullWarp, there);
  const unsigned before = lanes & ((1u << lane_id()) - 1);
  if (there) list[count + __popc(before)] = spike;
  count += __popc(lanes);
}

// Ends a list with a spike of 0 where its length is odd, so that it can be read in pairs, and shows
// it to the warp. `spike` is the extra one.
__device__ __forceinline__ void finish(Spike* list, int& count, int place) {
  if (count % 2 == 1 && lane_id() == 0) list[count] = {0.0f, place};
  count += count % 2;
  __syncwarp();  // the list is written before any lane reads it
}

struct alignas(16) SpikePair {
  Spike spike[2];
};

// y1 with the channels last: (image, row, column, channel).
template <class Conv, int kImages>
__device__ __forceinline__ void put_channels_last(float* to, const float* y1) {
  for (int i = thread_id(); i < kImages * Conv::kMaps; i += kThreads) {
    const int image = i / Conv::kMaps, c = i % Conv::kMaps / Conv::kPlane, at = i % Conv::kPlane;
    to[image * Conv::kMaps + at * Conv::kInputs + c] = y1[i];
  }
}

// The gradient of the filter that this warp owns, and of its bias, from `dy` (kImages, kOutputs):
// store(index in the flat weights, value) and store_bias(filter, value), each exactly once.
template <class Conv, int kImages, class Store, class StoreBias>
__device__ __forceinline__ void filter_gradient(Spike* list, const float* dy,
                                                const std::uint8_t* code,
                                                const float* channels_last, const Store& store,
                                                const StoreBias& store_bias) {
  constexpr int kRow = Conv::kKernel * Conv::kInputs;  // neighbours in channels_last
  const int filter = warp_id(), lane = lane_id();
  if (filter >= Conv::kFilters) return;
  int count = 0;
  for (int first = 0; first < kImages * Conv::kWindows; first += 32) {
    const int i = first + lane, image = i / Conv::kWindows, window = i % Conv::kWindows;
    const int at = image * Conv::kOutputs + filter * Conv::kWindows + window;
    const bool inside = i < kImages * Conv::kWindows;
    const int index = inside ? code[at] : kReluPoolCut;
    const int row = window / Conv::kOutWidth * 2 + index / 2;
    const int column = window % Conv::kOutWidth * 2 + index % 2;
    const int place = image * Conv::kMaps + (row * Conv::kPitch + column) * Conv::kInputs;
    append(list, count, {inside ? dy[at] : 0.0f, place}, index != kReluPoolCut);
  }
  finish(list, count, 0);
  float sum[Conv::kKernel] = {}, bias = 0.0f;
  const float* lane_values = channels_last + (lane < kRow ? lane : 0);
#pragma unroll 2
  for (int i = 0; i < count; i += 2) {
    const SpikePair pair = *reinterpret_cast<const SpikePair*>(list + i);
#pragma unroll
    for (const Spike& spike : pair.spike) {
      const float* values = lane_values + spike.place;
      bias += spike.gradient;
#pragma unroll
      for (int r = 0; r < Conv::kKernel; ++r) {
        sum[r] += spike.gradient * values[r * Conv::kPitch * Conv::kInputs];
      }
    }
  }
  if (lane == 0) store_bias(filter, bias);
  if (lane >= kRow) return;
  const int s = lane / Conv::kInputs, c = lane % Conv::kInputs;
#pragma unroll
  for (int r = 0; r < Conv::kKernel; ++r) {
    store(filter * Conv::kFilter + c * Conv::kTaps + r * Conv::kKernel + s, sum[r]);
  }
}

// columns (kImages, window, position, kStride): for each position of the map before pooling the sum
// over the filters of weight x gradient, tap by tap. `weights` is in global memory.
template <class Conv, int kImages>
__device__ __forceinline__ void data_columns(float* columns, const float* dy,
                                             const std::uint8_t* code, const float* weights) {
  constexpr int kSlots = divide_up(Conv::kFilter, 32), kStride = Columns<Conv>::kStride;
  static_assert(Conv::kFilters <= 32, "a lane knows the gradient of a filter");
  const int lane = lane_id();
#pragma unroll 1
  for (int item = warp_id(); item < kImages * Conv::kWindows * 4; item += kWarps) {
    const int window = item / 4;
    const int at =
        window / Conv::kWindows * Conv::kOutputs + window % Conv::kWindows + lane * Conv::kWindows;
    const bool won = lane < Conv::kFilters && code[at] == item % 4;
    const float gradient = won ? dy[at] : 0.0f;
    float sum[kSlots] = {};
#pragma unroll 1
    for (unsigned filters = __ballot_sync(device::kFullWarp, won); filters != 0;
         filters &= filters - 1) {
      const int filter = __ffs(static_cast<int>(filters)) - 1;
      const float factor = __shfl_sync(device::kFullWarp, gradient, filter);
#pragma unroll
      for (int j = 0; j < kSlots; ++j) {
        const int tap = lane + 32 * j;
        if (tap < Conv::kFilter) sum[j] += factor * weights[filter * Conv::kFilter + tap];
      }
    }
#pragma unroll
    for (int j = 0; j < kSlots; ++j) {
      const int tap = lane + 32 * j;
      if (tap < Conv::kFilter) columns[item * kStride + tap] = sum[j];
    }
  }
}

// The gradient of the element (row, column) of a channel of an image's input; `columns` are those
// of the image from the channel's taps on. Rows and columns of the map are found apart, five of
// each and not twenty-five of both, and the loads of a row are on their way together.
template <class Conv>
__device__ __forceinline__ float gather_columns(const float* columns, int row, int column) {
  constexpr int kStride = Columns<Conv>::kStride;
  const float* across[Conv::kKernel];  // the column that tap s comes from
  bool inside[Conv::kKernel];
#pragma unroll
  for (int s = 0; s < Conv::kKernel; ++s) {
    const int q = column + Conv::kPad - s;
    across[s] = columns + (4 * (q >> 1) + (q & 1)) * kStride + s;
    inside[s] = q >= 0 && q < 2 * Conv::kOutWidth;
  }
  float sum = 0.0f;
#pragma unroll
  for (int r = 0; r < Conv::kKernel; ++r) {
    const int p = row + Conv::kPad - r;
    const bool there = p >= 0 && p < 2 * Conv::kOutHeight;
    const int down = (4 * Conv::kOutWidth * (p >> 1) + 2 * (p & 1)) * kStride + r * Conv::kKernel;
    float value[Conv::kKernel];
#pragma unroll
    for (int s = 0; s < Conv::kKernel; ++s) {
      value[s] = there && inside[s] ? across[s][down] : 0.0f;
    }
#pragma unroll
    for (int s = 0; s < Conv::kKernel; ++s) sum += value[s];
  }
  return sum;
}

// sums (plane, part, tap or bias): what each warp adds to the gradient of conv1's filters. y1's
// gradient comes out of conv2's columns.
template <class Net, int kImages>
__device__ __forceinline__ void first_filter_gradients(Shared<Net, kImages>& shared) {
  using Block = Shared<Net, kImages>;
  using Conv1 = typename Block::Conv1;
  using Conv2 = typename Block::Conv2;
  auto& memory = shared.large.backward;
  const int lane = lane_id();
  const int tap = lane < Conv1::kTaps ? lane : 0;
  for (int task = warp_id(); task < Block::kPlanes * Block::kParts; task += kWarps) {
    const int plane = task / Block::kParts, part = task % Block::kParts;
    const int image = plane / Conv1::kFilters, filter = plane % Conv1::kFilters;
    const int end = min((part + 1) * Block::kPartWindows, Conv1::kWindows);
    Spike* list = memory.spikes1[task];
    int count = 0;
#pragma unroll 1
    for (int first = part * Block::kPartWindows; first < end; first += 32) {
      const int window = first + lane;
      const int u = window / Conv1::kOutWidth, v = window % Conv1::kOutWidth;
      const int index =
          window < end ? shared.code1[image][filter * Conv1::kWindows + window] : kReluPoolCut;
      Spike spike{0.0f, (2 * u + index / 2) * Conv1::kPitch + 2 * v + index % 2};
      if (index != kReluPoolCut) {
        spike.gradient = gather_columns<Conv2>(
            memory.columns + image * Columns<Conv2>::kFloats + filter * Conv2::kTaps, u, v);
      }
      append(list, count, spike, index != kReluPoolCut);
    }
    finish(list, count, 0);
    float sum = 0.0f, bias = 0.0f;
    const float* lane_values =
        shared.x[image] + tap / Conv1::kKernel * Conv1::kPitch + tap % Conv1::kKernel;
#pragma unroll 4
    for (int i = 0; i < count; i += 2) {
      const SpikePair pair = *reinterpret_cast<const SpikePair*>(list + i);
#pragma unroll
      for (const Spike& spike : pair.spike) {
        sum += spike.gradient * lane_values[spike.place];
        bias += spike.gradient;
      }
    }
    if (lane < Conv1::kTaps) memory.sums1[task][lane] = sum;
    if (lane == 0) memory.sums1[task][Conv1::kTaps] = bias;
  }
}

}  // namespace weft::kernels::fused_cnn

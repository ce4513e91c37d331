// SPDX-License-Identifier: MIT
// Gradients of the two convolutions for the images of a block, all in shared memory.
//
// Behind max pooling one position of four has a gradient, and none where ReLU cut the window, so
// the gradients are lists of spikes: a value and the place where it belongs.
//
//   filters of conv2   a warp owns a filter and its 150 weights, in registers: it walks down its
//                      list and adds gradient x the 5 x 5 x 6 values of y1 at the place. With the
//                      channels last, a row of those is 30 neighbours, one for each lane.
//   data of conv2      a warp owns a window: the 6 x 6 x 6 values of y1 that its four positions
//                      read get the sum of gradient x weights over the filters, in registers. Where
//                      in the region the 5 x 5 taps lie depends on which position won, so filters
//                      have a border of zeros and are read from another corner. Then an element of
//                      y1 adds up the nine regions that it lies in, in a fixed order.
//   filters of conv1   a warp owns a part of the windows of all images. A lane gathers the spikes
//                      of a window, one for each filter, with a gradient of 0 where ReLU cut. Then
//                      the warp walks down its windows, a lane for a column of a filter's taps.
#pragma once

#include "engine/extent.h"
#include "kernels/conv_relu_pool/conv_relu_pool.h"
#include "kernels/device/warp.cuh"
#include "kernels/networks/cnn/parts/network.h"
#include "kernels/networks/cnn/parts/thread.cuh"

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

// The weight and bias gradients of the filter that this warp owns, from `dy` (kImages, kOutputs):
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

// Copies the weights of conv2 to shared memory, where they lie channels last with a border of
// zeros: Regions::kFilter floats for each filter.
template <class Conv>
class BorderedFilters {
 public:
  // `weights` is in global memory.
  __device__ __forceinline__ void fetch(const float* weights) {
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      const int i = thread_id() + turn * kThreads;
      if (i < Conv::kWeights) weights_[turn] = weights[i];
    }
  }

  __device__ __forceinline__ void put(float* filters) const {
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      const int i = thread_id() + turn * kThreads;
      if (i >= Conv::kWeights) continue;
      const int filter = i / Conv::kFilter, c = i % Conv::kFilter / Conv::kTaps;
      const int r = i % Conv::kTaps / Conv::kKernel, s = i % Conv::kKernel;
      filters[filter * R::kFilter + (r + 1) * R::kFilterPitch + (s + 1) * Conv::kInputs + c] =
          weights_[turn];
    }
    constexpr int kLine = R::kFilterColumns, kSides = 2 * Conv::kInputs;
    constexpr int kBorder = 2 * kLine + Conv::kKernel * kSides;  // of a filter
#pragma unroll 1
    for (int i = thread_id(); i < Conv::kFilters * kBorder; i += kThreads) {
      const int at = i % kBorder, side = at - 2 * kLine;
      const int row = side < 0 ? at / kLine * (R::kFilterRows - 1) : 1 + side / kSides;
      const int along = side < 0 ? at % kLine : side % kSides;
      const int skipped = side >= 0 && along >= Conv::kInputs ? kLine - kSides : 0;
      filters[i / kBorder * R::kFilter + row * R::kFilterPitch + along + skipped] = 0.0f;
    }
  }

 private:
  using R = Regions<Conv>;
  static constexpr int kTurns = divide_up(Conv::kWeights, kThreads);
  static_assert(Conv::kFilter % Conv::kTaps == 0 && Conv::kTaps % Conv::kKernel == 0,
                "remainders may be taken from the whole index");

  float weights_[kTurns];
};

// regions (kImages, window, kStride): for each value that the window reads the sum over the filters
// of weight x gradient. A lane sums kWhole rows at its column, and its share of what is left of
// rows longer than a warp.
template <class Conv, int kImages>
__device__ __forceinline__ void data_regions(float* regions, Spike* list, const float* dy,
                                             const std::uint8_t* code, const float* filters) {
  using R = Regions<Conv>;
  constexpr int kWhole = R::kColumns / 32, kRest = R::kColumns % 32;
  constexpr int kRestTurns = divide_up(R::kSide * kRest, 32), kPart = kRest > 0 ? kRest : 1;
  static_assert(Conv::kFilters <= 32, "a lane knows the gradient of a filter");
  const int lane = lane_id();
  int rest_row[kRestTurns + 1], rest_column[kRestTurns + 1];
#pragma unroll
  for (int j = 0; j < kRestTurns; ++j) {
    const int i = lane + 32 * j < R::kSide * kRest ? lane + 32 * j : 0;
    rest_row[j] = i / kPart, rest_column[j] = 32 * kWhole + i % kPart;
  }
#pragma unroll 1
  for (int window = warp_id(); window < kImages * Conv::kWindows; window += kWarps) {
    const int at =
        window / Conv::kWindows * Conv::kOutputs + window % Conv::kWindows + lane * Conv::kWindows;
    const int position = lane < Conv::kFilters ? code[at] : kReluPoolCut;
    const bool won = position != kReluPoolCut;
    const int corner = lane * R::kFilter + (1 - position / 2) * R::kFilterPitch +
                       (1 - position % 2) * Conv::kInputs;
    int count = 0;
    append(list, count, {won ? dy[at] : 0.0f, corner}, won);
    finish(list, count, 0);
    float sum[kWhole + 1][R::kSide] = {}, rest[kRestTurns + 1] = {};
#pragma unroll 2
    for (int i = 0; i < count; i += 2) {
      const SpikePair pair = *reinterpret_cast<const SpikePair*>(list + i);
#pragma unroll
      for (const Spike& spike : pair.spike) {
        const float* weights = filters + spike.place;
#pragma unroll
        for (int k = 0; k < kWhole; ++k) {
#pragma unroll
          for (int a = 0; a < R::kSide; ++a) {
            sum[k][a] += spike.gradient * weights[a * R::kFilterPitch + 32 * k + lane];
          }
        }
#pragma unroll
        for (int j = 0; j < kRestTurns; ++j) {
          rest[j] += spike.gradient * weights[rest_row[j] * R::kFilterPitch + rest_column[j]];
        }
      }
    }
    float* region = regions + window * R::kStride;
#pragma unroll
    for (int k = 0; k < kWhole; ++k) {
#pragma unroll
      for (int a = 0; a < R::kSide; ++a) region[a * R::kPitch + 32 * k + lane] = sum[k][a];
    }
#pragma unroll
    for (int j = 0; j < kRestTurns; ++j) {
      if (lane + 32 * j < R::kSide * kRest) {
        region[rest_row[j] * R::kPitch + rest_column[j]] = rest[j];
      }
    }
    __syncwarp();  // the list is read before the next one is written
  }
}

// Adds to `sums`, for each channel of an image's input, the gradient of the element (row, column);
// `regions` are those of the image. From window to window its place in the region moves by two.
template <class Conv>
__device__ __forceinline__ void gather_regions(float (&sums)[Conv::kInputs], const float* regions,
                                               int row, int column) {
  using R = Regions<Conv>;
  constexpr int kReach = R::kSide / 2;  // windows along a side that read the element
  constexpr int kDown = Conv::kOutWidth * R::kStride - 2 * R::kPitch;
  constexpr int kRight = R::kStride - 2 * Conv::kInputs;
  const int p = row + Conv::kPad, q = column + Conv::kPad;
  const int at =
      (p / 2 * Conv::kOutWidth + q / 2) * R::kStride + p % 2 * R::kPitch + q % 2 * Conv::kInputs;
#pragma unroll
  for (int a = 0; a < kReach; ++a) {
    const bool there = p / 2 - a >= 0 && p / 2 - a < Conv::kOutHeight;
#pragma unroll
    for (int b = 0; b < kReach; ++b) {
      const bool inside = q / 2 - b >= 0 && q / 2 - b < Conv::kOutWidth;
#pragma unroll
      for (int c = 0; c < Conv::kInputs; ++c) {
        sums[c] += there && inside ? regions[at - a * kDown - b * kRight + c] : 0.0f;
      }
    }
  }
}

// sums1 (warp, filter, tap or bias): what each warp adds to the gradient of conv1's filters. y1's
// gradient comes out of conv2's regions. Lists without the spikes of 0 would be shorter, but only
// spikes of one window are certain to read their taps from different banks (tap_pitch).
template <class Net, int kImages>
__device__ __forceinline__ void first_filter_gradients(Shared<Net, kImages>& shared) {
  using Block = Shared<Net, kImages>;
  using Conv1 = typename Block::Conv1;
  using Conv2 = typename Block::Conv2;
  auto& memory = shared.large.backward;
  const int lane = lane_id(), warp = warp_id();
  for (int i = lane; i < Block::kWarpWindows; i += 32) {
    const int number = warp * Block::kWarpWindows + i;  // through all images
    const bool there = number < kImages * Conv1::kWindows;
    const int image = there ? number / Conv1::kWindows : 0, window = number % Conv1::kWindows;
    const int u = window / Conv1::kOutWidth, v = window % Conv1::kOutWidth;
    const int corner = image * Conv1::kPlane + 2 * u * Conv1::kPitch + 2 * v;
    int index[Conv1::kFilters];
#pragma unroll
    for (int filter = 0; filter < Conv1::kFilters; ++filter) {
      index[filter] = shared.code1[image][filter * Conv1::kWindows + window];
    }
    float gradient[Conv1::kFilters] = {};
    gather_regions<Conv2>(gradient, memory.regions + image * Regions<Conv2>::kFloats, u, v);
#pragma unroll
    for (int filter = 0; filter < Conv1::kFilters; ++filter) {
      const bool won = there && index[filter] != kReluPoolCut;
      const int row = index[filter] / 2 % 2, column = index[filter] % 2;  // somewhere if it is cut
      memory.spikes1[warp][filter][i] = {won ? gradient[filter] : 0.0f,
                                         corner + row * Conv1::kPitch + column};
    }
  }
  __syncwarp();  // the spikes are written
  const bool owner = lane < Conv1::kFilters * Conv1::kKernel;
  const int filter = owner ? lane / Conv1::kKernel : 0, s = owner ? lane % Conv1::kKernel : 0;
  const Spike* spikes = memory.spikes1[warp][filter];
  const float* lane_values = shared.x[0] + s;
  float sum[Conv1::kKernel] = {}, bias = 0.0f;
#pragma unroll 5
  for (int i = 0; i < Block::kWarpWindows; ++i) {
    const Spike spike = spikes[i];
    const float* values = lane_values + spike.place;
    bias += spike.gradient;
#pragma unroll
    for (int r = 0; r < Conv1::kKernel; ++r) {
      sum[r] += spike.gradient * values[r * Conv1::kPitch];
    }
  }
  if (!owner) return;
  float* sums = memory.sums1[warp][filter];
#pragma unroll
  for (int r = 0; r < Conv1::kKernel; ++r) sums[r * Conv1::kKernel + s] = sum[r];
  if (s == 0) sums[Conv1::kTaps] = bias;
}

}  // namespace weft::kernels::fused_cnn

// SPDX-License-Identifier: MIT
// What a block does for its images, from bytes to gradients, without asking other blocks.
#pragma once

#include "engine/extent.h"
#include "kernels/device/bulk_copy.cuh"
#include "kernels/networks/cnn/parts/arguments.h"
#include "kernels/networks/cnn/parts/conv_backward.cuh"
#include "kernels/networks/cnn/parts/conv_forward.cuh"
#include "kernels/networks/cnn/parts/dense.cuh"
#include "kernels/networks/cnn/parts/images.cuh"
#include "kernels/softmax/parts/row.cuh"
#include "kernels/softmax/parts/warp_group.cuh"

namespace weft::kernels::fused_cnn {

// Where the time goes: thread 0 of block 0 notes the clock.
struct Clock {
  long long* cycles = nullptr;  // (kParts,): += the time since the mark before; null: not asked for
  long long last = 0;
  __device__ __forceinline__ void mark(Part part) {
    if (cycles == nullptr || threadIdx.x != 0 || blockIdx.x != 0) return;
    const long long now = clock64();
    if (last != 0) cycles[static_cast<int>(part)] += now - last;
    last = now;
  }
};

// The work on kImages images at a time. All threads of the block call each function.
template <class Net, int kImages>
class ImagePhase {
 public:
  using Block = Shared<Net, kImages>;
  using S = typename Block::S;
  using Conv1 = typename Block::Conv1;
  using Conv2 = typename Block::Conv2;

  __device__ __forceinline__ ImagePhase(Block& shared, const float* parameters, int classes,
                                        Clock& clock)
      : shared_(shared),
        parameters_(parameters),
        classes_(classes),
        clock_(clock),
        fc1_(&shared.copy_barrier) {
    for (int i = thread_id(); i < kImages * Conv1::kPlane; i += kThreads) {
      shared_.x[i / Conv1::kPlane][i % Conv1::kPlane] = 0.0f;
    }
    for (int i = thread_id(); i < kImages * Conv2::kMaps; i += kThreads) {
      shared_.y1[i / Conv2::kMaps][i % Conv2::kMaps] = 0.0f;
    }
    __syncthreads();  // borders are zero, the copy's barrier is ready
  }

  // Starts to copy what the convolutions and fc1 need, behind a barrier that ends its earlier use.
  // fc1's weights come last: a copy after them would wait behind their 192,000 bytes.
  __device__ __forceinline__ void stage_weights() {
    stage_filters<Conv1>(shared_.filters.staged.conv1, parameters_ + S::kConv1Weight);
    stage_filters<Conv2>(shared_.filters.staged.conv2, parameters_ + S::kConv2Weight);
    for (int i = thread_id(); i < Conv1::kFilters + Conv2::kFilters; i += kThreads) {
      const int from =
          i < Conv1::kFilters ? S::kConv1Bias + i : S::kConv2Bias + i - Conv1::kFilters;
      device::async_copy_float(shared_.conv_bias + i, parameters_ + from, true);
    }
    for (int i = thread_id(); i < S::kHidden1 + S::kHidden2 + classes_; i += kThreads) {
      const int from = i < S::kHidden1 ? S::kFc1Bias + i
                       : i < S::kHidden1 + S::kHidden2
                           ? S::kFc2Bias + i - S::kHidden1
                           : S::kFc3Weight + classes_ * S::kHidden2 + i - S::kHidden1 - S::kHidden2;
      device::async_copy_float(shared_.fc_bias + i, parameters_ + from, true);
    }
    device::async_commit();
    fc1_.start(shared_.large.fc1, parameters_ + S::kFc1Lines, sizeof(shared_.large.fc1));
  }
  __device__ __forceinline__ void wait_for_filters() { device::async_wait<0>(); }

  // fc2 and fc3, to registers.
  __device__ __forceinline__ void load_linear() {
    fc2_.load(parameters_ + S::kFc2Weight);
#pragma unroll
    for (int j = 0; j < kClassTurns; ++j) {
      const int row = warp_id() + j * kWarps;
#pragma unroll
      for (int i = 0; i < kHiddenTurns; ++i) {
        const int k = lane_id() + 32 * i;
        const bool inside = row < classes_ && k < S::kHidden2;
        fc3_[j][i] = inside ? parameters_[S::kFc3Weight + row * S::kHidden2 + k] : 0.0f;
      }
    }
  }

  // x to y1 and y2. `meanwhile()` runs in the last warp, which has little to do.
  template <class Meanwhile>
  __device__ __forceinline__ void convolve(const Meanwhile& meanwhile) {
    __syncthreads();  // x and the filters are there
    clock_.mark(Part::staging);
    if (warp_id() == kWarps - 1) meanwhile();
    conv_relu_pool<Conv1, Conv2, kImages>(shared_.y1[0], shared_.code1[0], shared_.x[0],
                                          shared_.filters.staged.conv1, shared_.conv_bias);
    __syncthreads();  // y1 is complete
    clock_.mark(Part::conv1);
    conv_relu_pool<Conv2, FlatMaps<Conv2>, kImages>(shared_.features.y2[0], shared_.code2[0],
                                                    shared_.y1[0], shared_.filters.staged.conv2,
                                                    shared_.conv_bias + Conv1::kFilters);
    __syncthreads();  // y2 is complete
    clock_.mark(Part::conv2);
  }

  __device__ __forceinline__ void wait_for_fc1() {
    fc1_.wait();
  }

  // y2 to logits. record(image, index in a row of inputs, value) gets h1 and h2.
  template <class Record>
  __device__ __forceinline__ void classify(const Record& record) {
    multiply_rows<S::kFeatures, S::kHidden1, kImages>(
        shared_.features.y2[0], shared_.fc1_weight(), [&](int image, int row, float sum) {
          const float value = relu(sum + shared_.fc_bias[row]);
          shared_.h1[image][row] = value;
          record(image, S::kFeatures + row, value);
        });
    __syncthreads();  // h1 is complete, y2 is read
    clock_.mark(Part::fc1);
    fc2_.multiply_rows(shared_.features.fc2_forward, shared_.h1[0]);
    __syncthreads();  // the partial sums are written
    for (int i = thread_id(); i < kImages * S::kHidden2; i += kThreads) {
      float sum = shared_.fc_bias[S::kHidden1 + i % S::kHidden2];
#pragma unroll
      for (int part = 0; part < Block::Fc2::kColumnWarps; ++part) {
        sum += shared_.features.fc2_forward[part * kImages * S::kHidden2 + i];
      }
      const int image = i / S::kHidden2, row = i % S::kHidden2;
      shared_.h2[image][row] = relu(sum);
      record(image, S::kFeatures + S::kHidden1 + row, relu(sum));
    }
    __syncthreads();  // h2 is complete
    float sum[kClassTurns * kImages] = {};
#pragma unroll
    for (int j = 0; j < kClassTurns; ++j) {
#pragma unroll
      for (int i = 0; i < kHiddenTurns; ++i) {
        const int k = lane_id() + 32 * i;
#pragma unroll
        for (int image = 0; image < kImages; ++image) {
          const float value = k < S::kHidden2 ? shared_.h2[image][k] : 0.0f;
          sum[j * kImages + image] += fc3_[j][i] * value;
        }
      }
    }
    const device::Folded folded = device::fold<16, 1>(sum);
#pragma unroll
    for (int i = 0; i < device::folded_count<16, 1, kClassTurns * kImages>(); ++i) {
      const int at = folded.first + i, row = warp_id() + at / kImages * kWarps;
      if (folded.owner && row < classes_) {
        shared_.logits[at % kImages][row] =
            sum[i] + shared_.fc_bias[S::kHidden1 + S::kHidden2 + row];
      }
    }
    __syncthreads();  // logits are complete
  }

  // Loss, prediction and the gradient of the logits, a warp for an image.
  __device__ __forceinline__ void compare(const Draw* draws, float scale, float smoothing) {
    const int image = warp_id();
    if (image < kImages) {
      cuda::WarpGroup warp;
      float* gradient = shared_.logit_gradients[image];
      const Draw& drawn = draws[image];
      if (drawn.there) {
        cuda::cross_entropy_row<1>(&shared_.loss[image], gradient, &shared_.prediction[image],
                                   shared_.logits[image], drawn.label, scale, classes_, warp,
                                   smoothing);
      }
      if (!drawn.there || lane_id() >= classes_) gradient[lane_id()] = 0.0f;
    }
    __syncthreads();  // the gradient of the logits is complete
  }

  // The gradient of the logits to that of y2. record(image, index in a row of gradients, value).
  template <class Record>
  __device__ __forceinline__ void backward_linear(const Record& record) {
    const int thread = thread_id();
    for (int i = thread; i < kImages * kMaxClasses; i += kThreads) {
      record(i / kMaxClasses, S::kHidden1 + S::kHidden2 + i % kMaxClasses,
             shared_.logit_gradients[i / kMaxClasses][i % kMaxClasses]);
    }
    for (int i = thread; i < kImages * S::kHidden2; i += kThreads) {
      const int image = i / S::kHidden2, k = i % S::kHidden2;
      const float* weight = parameters_ + S::kFc3Weight + k;
      float sum = 0.0f;
#pragma unroll 10
      for (int row = 0; row < classes_; ++row) {
        sum += weight[row * S::kHidden2] * shared_.logit_gradients[image][row];
      }
      const float gradient = shared_.h2[image][k] > 0.0f ? sum : 0.0f;
      shared_.h2[image][k] = gradient;
      record(image, S::kHidden1 + k, gradient);
    }
    __syncthreads();  // the gradient of h2 is complete
    clock_.mark(Part::fc3);
    fc2_.multiply_columns(shared_.filters.fc2_backward, shared_.h2[0]);
    __syncthreads();  // the partial sums are written
    for (int i = thread; i < kImages * S::kHidden1; i += kThreads) {
      float sum = 0.0f;
#pragma unroll
      for (int part = 0; part < Block::Fc2::kRowWarps; ++part) {
        sum += shared_.filters.fc2_backward[part * kImages * S::kHidden1 + i];
      }
      const int image = i / S::kHidden1, k = i % S::kHidden1;
      const float gradient = shared_.h1[image][k] > 0.0f ? sum : 0.0f;
      shared_.h1[image][k] = gradient;
      record(image, k, gradient);
    }
    __syncthreads();  // the gradient of h1 is complete
    clock_.mark(Part::fc2_backward);
    conv2_filters_.fetch(parameters_ + S::kConv2Weight);
    multiply_columns<S::kFeatures, S::kHidden1, kImages>(
        shared_.h1[0], shared_.fc1_weight(),
        [&](int image, int column, float sum) { shared_.features.gradient[image][column] = sum; });
    __syncthreads();  // the gradient of y2 is complete, fc1's weights are read
    clock_.mark(Part::fc1_backward);
  }

  // The gradient of y2 to those of the filters; add(index in the flat parameters, value), each once
  // and always in the same thread.
  template <class Add>
  __device__ __forceinline__ void backward_convolutions(const Add& add) {
    auto& memory = shared_.large.backward;
    put_channels_last<Conv2, kImages>(memory.channels_last, shared_.y1[0]);
    conv2_filters_.put(memory.filters);
    __syncthreads();  // channels_last and the filters are complete
    filter_gradient<Conv2, kImages>(
        memory.spikes2[warp_id() < Conv2::kFilters ? warp_id() : 0], shared_.features.gradient[0],
        shared_.code2[0], memory.channels_last,
        [&](int at, float value) { add(S::kConv2Weight + at, value); },
        [&](int filter, float value) { add(S::kConv2Bias + filter, value); });
    clock_.mark(Part::conv2_filters);
    data_regions<Conv2, kImages>(memory.regions, memory.window_spikes[warp_id()],
                                 shared_.features.gradient[0], shared_.code2[0], memory.filters);
    __syncthreads();  // the regions are complete
    clock_.mark(Part::conv2_data);
    first_filter_gradients<Net, kImages>(shared_);
    __syncthreads();  // every warp's sums are written
#pragma unroll 1
    for (int i = thread_id(); i < S::kConv2Weight; i += kThreads) {
      const bool bias = i >= Conv1::kWeights;
      const int filter = bias ? i - Conv1::kWeights : i / Conv1::kTaps;
      const int tap = bias ? Conv1::kTaps : i % Conv1::kTaps;
      float sum = 0.0f;
#pragma unroll
      for (int warp = 0; warp < kWarps; ++warp) sum += memory.sums1[warp][filter][tap];
      add(i, sum);
    }
    __syncthreads();  // shared memory is free for the next round
    clock_.mark(Part::conv1_filters);
  }

 private:
  static constexpr int kClassTurns = divide_up(kMaxClasses, kWarps);
  static constexpr int kHiddenTurns = divide_up(S::kHidden2, 32);

  Block& shared_;
  const float* parameters_;
  int classes_;
  Clock& clock_;
  device::BulkCopy fc1_;
  RegisterMatrix<S::kHidden1, S::kHidden2, kImages> fc2_;
  BorderedFilters<Conv2> conv2_filters_;
  float fc3_[kClassTurns][kHiddenTurns];
};

}  // namespace weft::kernels::fused_cnn

// SPDX-License-Identifier: MIT
// A block's share of one step, for the kernels of both variants.
#pragma once

#include "kernels/device/dynamic_shared.cuh"
#include "kernels/networks/cnn/parts/image_phase.cuh"
#include "kernels/networks/cnn/parts/parameter_phase.cuh"

namespace weft::kernels::fused_cnn {

// All images of a block in a step, and the pixels of the round after.
template <class Net, int kImages>
class Rounds {
 public:
  using Block = Shared<Net, kImages>;
  using S = Shape<Net>;

  __device__ __forceinline__ Rounds(Block& shared, const Training& training, Clock& clock)
      : shared_(shared),
        t_(training),
        clock_(clock),
        phase_(shared, training.parameters, training.classes, clock),
        count_(rounds_of<kImages>(training.rows)) {}

  // Draws and brings the first images of step `step`.
  __device__ __forceinline__ void begin(std::int64_t step) {
    if (count_ == 0) return;
    if (warp_id() == 0) draw(0, 0, step);
    __syncthreads();  // the draws are there
    fetch_next(0);
    put_next(0);
  }

  // All rounds of step `step`. With `more` it starts to load the pixels of the next step's first
  // round, and finish_fetch() puts them where they belong.
  __device__ __forceinline__ void run(std::int64_t step, bool more) {
    for (int round = 0; round < count_; ++round) {
      const bool last = round == count_ - 1;
      one_round(round, step, !last || more);
      slot_ ^= 1;
      if (!last) {
        fetch_next(slot_);
        put_next(slot_);
      }
    }
    if (count_ > 0 && threadIdx.x == 0) {
      t_.exchange.losses[blockIdx.x] = loss_;
      t_.exchange.hits[blockIdx.x] = hits_;
      loss_ = 0.0;
      hits_ = 0;
    }
    if (count_ > 0 && more) fetch_next(slot_);
  }
  __device__ __forceinline__ void finish_fetch() {
    if (count_ > 0) put_next(slot_);
  }

 private:
  // For one warp.
  __device__ __forceinline__ void draw(int slot, int round, std::int64_t step) {
    if (lane_id() >= kImages) return;
    draw_image(shared_.draws[slot][lane_id()], t_.source, Net::kHeight, Net::kWidth,
               first_row<kImages>(round) + lane_id(), t_.rows, step);
  }
  __device__ __forceinline__ void fetch_next(int slot) {
    pixels_.fetch(shared_.draws[slot], t_.source);
  }
  __device__ __forceinline__ void put_next(int slot) {
    pixels_.put(shared_.x, shared_.draws[slot], t_.source);
  }

  __device__ __forceinline__ void one_round(int round, std::int64_t step, bool draws_next) {
    const std::int64_t row0 = first_row<kImages>(round);
    const Draw* draws = shared_.draws[slot_];
    const auto record_input = [&](int image, int at, float value) {
      if (row0 + image < t_.rows) t_.exchange.inputs[(row0 + image) * S::kInputs + at] = value;
    };
    const auto record_gradient = [&](int image, int at, float value) {
      if (row0 + image < t_.rows) {
        t_.exchange.gradients[(row0 + image) * S::kGradients + at] = value;
      }
    };
    phase_.stage_weights();
    phase_.wait_for_filters();
    phase_.convolve([] {});
    phase_.load_linear();
    if (draws_next && warp_id() == kWarps - 1) {  // while fc1's weights are copied
      const bool same_step = round + 1 < count_;
      draw(slot_ ^ 1, same_step ? round + 1 : 0, same_step ? step : step + 1);
    }
    for (int i = thread_id(); i < kImages * S::kFeatures; i += kThreads) {
      record_input(i / S::kFeatures, i % S::kFeatures,
                   shared_.features.y2[i / S::kFeatures][i % S::kFeatures]);
    }
    phase_.wait_for_fc1();
    clock_.mark(Part::waiting);
    phase_.classify(record_input);
    phase_.compare(draws, t_.gradient_scale, t_.label_smoothing);
    if (threadIdx.x == 0) {
      for (int image = 0; image < kImages; ++image) {
        if (!draws[image].there) continue;
        loss_ += static_cast<double>(shared_.loss[image]);
        hits_ += shared_.prediction[image] == draws[image].label ? 1 : 0;
      }
    }
    phase_.backward_linear(record_gradient);
    float* sums = t_.exchange.filters + static_cast<std::int64_t>(blockIdx.x) * S::kFilterStride;
    phase_.backward_convolutions(
        [&](int at, float value) { sums[at] = round == 0 ? value : sums[at] + value; });
  }

  Block& shared_;
  const Training& t_;
  Clock& clock_;
  ImagePhase<Net, kImages> phase_;
  Pixels<Net, kImages> pixels_;
  int count_, slot_ = 0;
  double loss_ = 0.0;  // of thread 0
  std::int64_t hits_ = 0;
};

}  // namespace weft::kernels::fused_cnn

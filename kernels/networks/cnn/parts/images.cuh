// SPDX-License-Identifier: MIT
// Brings the images of a block into shared memory, drawn as gather_batch() draws them.
// Fetching is in two parts, so that other work hides the memory latency.
#pragma once

#include "engine/extent.h"
#include "kernels/batch/parts/pixels.cuh"
#include "kernels/device/vector.cuh"
#include "kernels/networks/cnn/parts/arguments.h"
#include "kernels/networks/cnn/parts/thread.cuh"

namespace weft::kernels::fused_cnn {

// Rounds of this block: it takes images blockIdx.x * kImages, then gridDim.x * kImages further on.
template <int kImages>
__device__ __forceinline__ int rounds_of(std::int64_t rows) {
  const std::int64_t groups = divide_up(rows, kImages) - blockIdx.x;
  return groups <= 0 ? 0 : static_cast<int>(divide_up(groups, gridDim.x));
}
template <int kImages>
__device__ __forceinline__ std::int64_t first_row(int round) {
  return (static_cast<std::int64_t>(round) * gridDim.x + blockIdx.x) * kImages;
}

// For kImages threads, each with its image.
__device__ __forceinline__ void draw_image(Draw& drawn, const ImageSource& source, int height,
                                           int width, std::int64_t row, std::int64_t rows,
                                           std::int64_t step) {
  drawn.there = row < rows;
  if (!drawn.there) return;
  const draw::Place place = draw::place_of(row, step, source.order);
  drawn.index = place.index;
  drawn.label = source.labels != nullptr ? source.labels[place.index] : -1;
  if (source.distort) {
    drawn.map = draw::affine_of(place, source.order.seed, source.augmentation, height, width);
  }
}

// The pixels of kImages images: fetch() starts reading them, put() leaves them in shared memory
// behind borders, which stay as they are.
template <class Net, int kImages>
class Pixels {
 public:
  // `drawn` (kImages,) in shared memory.
  __device__ __forceinline__ void fetch(const Draw* drawn, const ImageSource& source) {
    if (source.distort) return;  // samples are read where they are needed
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      const int quad = thread_id() + turn * kThreads;
      if (quad >= kImages * kQuads || !drawn[quad / kQuads].there) continue;
      const std::uint8_t* image = source.images + drawn[quad / kQuads].index * kPixels;
      quads_[turn] = device::load4(image, 4 * (quad % kQuads), kPixels);
    }
  }

  __device__ __forceinline__ void put(float (*x)[Shape<Net>::Conv1::kPlane], const Draw* drawn,
                                      const ImageSource& source) const {
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      const int quad = thread_id() + turn * kThreads;
      if (quad >= kImages * kQuads) continue;
      const int image = quad / kQuads, at = 4 * (quad % kQuads);
      const int row = at / Net::kWidth, column = at % Net::kWidth;
      float* to = x[image] + (row + Net::kPad1) * Conv::kPitch + column + Net::kPad1;
      if (source.distort && drawn[image].there) {
        const std::uint8_t* from = source.images + drawn[image].index * kPixels;
#pragma unroll 1
        for (int i = 0; i < 4; ++i) {
          to[i] = cuda::distorted(from, drawn[image].map, row, column + i, Net::kHeight,
                                  Net::kWidth, source.line);
        }
        continue;
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        to[i] = drawn[image].there ? draw::normalized(quads_[turn].lane[i], source.line) : 0.0f;
      }
    }
  }

 private:
  using Conv = typename Shape<Net>::Conv1;
  static constexpr int kPixels = Shape<Net>::kPixels, kQuads = kPixels / 4;
  static constexpr int kTurns = divide_up(kImages * kQuads, kThreads);

  device::Float4 quads_[kTurns];
};

}  // namespace weft::kernels::fused_cnn

// SPDX-License-Identifier: MIT
// Gathering a batch with a block per image. One thread finds the image and draws its distortion
// (draw.h, the same text as on the CPU); then all threads normalise or sample its pixels, channel
// by channel. Plain copies take four bytes per load and sixteen per store; a 28 x 28 image is 196
// of them.
#include "engine/launch.h"
#include "kernels/batch/batch.h"
#include "kernels/batch/parts/pixels.cuh"
#include "kernels/device/vector.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256, kMostThreads = 512;

struct Outputs {
  float* x;
  std::int32_t* labels;
  std::int64_t* indices;
};

__device__ __forceinline__ void write_labels(const Outputs& out, const std::int32_t* image_labels,
                                             std::int64_t row, std::int64_t index,
                                             std::int64_t source) {
  if (out.labels != nullptr) out.labels[row] = image_labels[source];
  if (out.indices != nullptr) out.indices[row] = index;
}

// Chosen and not indexed: a kernel's argument that is indexed is copied to local memory.
__device__ __forceinline__ draw::Line line_of(const draw::Lines& lines, int channel) {
  draw::Line line = lines.of[0];
#pragma unroll
  for (int c = 1; c < kMaxImageChannels; ++c) {
    if (channel == c) line = lines.of[c];
  }
  return line;
}

// The index arithmetic of one channel costs an image of one channel nothing.
template <bool kOneChannel>
__global__ void __launch_bounds__(kThreads)
    copy_kernel(Outputs out, const std::uint8_t* __restrict__ images,
                const std::int32_t* __restrict__ image_labels, int channels, std::int64_t plane,
                const std::int64_t* step, BatchOrder order, draw::Lines lines) {
  __shared__ std::int64_t source;
  const std::int64_t row = blockIdx.x;
  if (threadIdx.x == 0) {
    const std::int64_t index = draw::place_of(row, *step, order).index;
    source = draw::source_of(index, row, *step, order);
    write_labels(out, image_labels, row, index, source);
  }
  __syncthreads();                       // the source is known to all threads
  if (4 * threadIdx.x >= plane) return;  // a small image leaves threads without work
  if (kOneChannel) channels = 1;
  for (int c = 0; c < channels; ++c) {
    const std::uint8_t* from = images + (source * channels + c) * plane;
    float* to = out.x + (row * channels + c) * plane;
    for (std::int64_t first = 4 * threadIdx.x; first < plane; first += 4 * kThreads) {
      device::Float4 values = device::load4(from, first, plane);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        values.lane[i] =
            draw::normalized(values.lane[i], kOneChannel ? lines.of[0] : line_of(lines, c));
      }
      device::store4(to, first, plane, values);
    }
  }
}

// Without edits only the map takes registers.
template <bool kEdits>
__global__ void __launch_bounds__(kMostThreads)
    distort_kernel(Outputs out, const std::uint8_t* __restrict__ images,
                   const std::int32_t* __restrict__ image_labels, int channels, int height,
                   int width, const std::int64_t* step, BatchOrder order, Augmentation augmentation,
                   draw::Lines lines) {
  __shared__ std::int64_t source;
  __shared__ draw::Distortion drawn;
  const std::int64_t row = blockIdx.x;
  const std::int64_t plane = static_cast<std::int64_t>(height) * width;
  if (threadIdx.x == 0) {
    const draw::Place place = draw::place_of(row, *step, order);
    source = draw::source_of(place.index, row, *step, order);
    if (kEdits) {
      draw::draw_distortion(drawn, place, order.seed, augmentation, lines, height, width);
    } else {
      drawn.map = draw::affine_of(place, order.seed, augmentation, height, width);
    }
    write_labels(out, image_labels, row, place.index, source);
  }
  __syncthreads();  // the source and the distortion are known to all threads
  const std::uint8_t* from = images + source * channels * plane;
  float* to = out.x + row * channels * plane;
  for (int c = 0; c < channels; ++c, from += plane, to += plane) {
    const draw::Line line = kEdits ? drawn.lines.of[c] : line_of(lines, c);
    // A plane has below 2^31 pixels.
    for (unsigned k = threadIdx.x; k < plane; k += blockDim.x) {
      const unsigned quotient = k / static_cast<unsigned>(width);
      const int i = static_cast<int>(quotient);
      const int j = static_cast<int>(k - quotient * static_cast<unsigned>(width));
      if (!kEdits) {
        to[k] = distorted(from, drawn.map, i, j, height, width, line);
        continue;
      }
      const int from_i = drawn.row(i), from_j = drawn.column(j, width);
      const float value =
          drawn.warped ? distorted(from, drawn.map, from_i, from_j, height, width, line)
                       : draw::normalized(pixel_at(from, from_i, from_j, height, width), line);
      to[k] = drawn.cuts(i, j) ? 0.0f : value;
    }
  }
}

}  // namespace

void batch_gather(float* x, std::int32_t* labels, std::int64_t* indices, const std::uint8_t* images,
                  const std::int32_t* image_labels, std::int64_t rows, const BatchDims& dims,
                  const std::int64_t* step, const BatchOrder& order,
                  const Augmentation& augmentation, std::span<const Normalization> normalization,
                  const Stream& stream) {
  const bool distorts = augmentation.any();
  // More threads sample the pixels of an image sooner. With fewer an SM holds more blocks, in each
  // of which one thread draws a distortion.
  const bool few = rows <= 2 * device_properties(stream.device()).multiprocessors;
  const Launch config{blocks_for(rows, 1), distorts && few ? kMostThreads : kThreads, 0, stream};
  const Outputs outputs{x, labels, indices};
  const draw::Lines lines = draw::lines_of(normalization);
  const int channels = static_cast<int>(dims.channels);
  if (distorts) {
    launch(augmentation.edits() ? distort_kernel<true> : distort_kernel<false>, config, outputs,
           images, image_labels, channels, static_cast<int>(dims.height),
           static_cast<int>(dims.width), step, order, augmentation, lines);
  } else {
    launch(channels == 1 ? copy_kernel<true> : copy_kernel<false>, config, outputs, images,
           image_labels, channels, dims.plane(), step, order, lines);
  }
}

}  // namespace weft::kernels::cuda

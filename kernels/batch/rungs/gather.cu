// SPDX-License-Identifier: MIT
// Gathering a batch with a block per image. One thread finds the image and draws its distortion
// (draw.h, the same text as on the CPU); then all threads normalise or sample its pixels. Plain
// copies take four bytes per load and sixteen per store; a 28 x 28 image is 196 of them.
#include "engine/launch.h"
#include "kernels/batch/batch.h"
#include "kernels/batch/parts/pixels.cuh"
#include "kernels/device/vector.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256;

struct Outputs {
  float* x;
  std::int32_t* labels;
  std::int64_t* indices;
};

__device__ __forceinline__ void write_labels(const Outputs& out, const std::uint8_t* image_labels,
                                             std::int64_t row, std::int64_t index) {
  if (out.labels != nullptr) out.labels[row] = image_labels[index];
  if (out.indices != nullptr) out.indices[row] = index;
}

__global__ void __launch_bounds__(kThreads)
    copy_kernel(Outputs out, const std::uint8_t* __restrict__ images,
                const std::uint8_t* __restrict__ image_labels, std::int64_t pixels,
                const std::int64_t* step, BatchOrder order, draw::Line line) {
  __shared__ std::int64_t shared_index;
  const std::int64_t row = blockIdx.x;
  if (threadIdx.x == 0) {
    shared_index = draw::place_of(row, *step, order).index;
    write_labels(out, image_labels, row, shared_index);
  }
  __syncthreads();  // the index is known to all threads
  const std::uint8_t* image = images + shared_index * pixels;
  for (std::int64_t first = 4 * threadIdx.x; first < pixels; first += 4 * kThreads) {
    device::Float4 values = device::load4(image, first, pixels);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      values.lane[i] = normalized(values.lane[i], line);
    }
    device::store4(out.x + row * pixels, first, pixels, values);
  }
}

__global__ void __launch_bounds__(kThreads)
    sample_kernel(Outputs out, const std::uint8_t* __restrict__ images,
                  const std::uint8_t* __restrict__ image_labels, int height, int width,
                  const std::int64_t* step, BatchOrder order, Augmentation augmentation,
                  draw::Line line) {
  __shared__ std::int64_t shared_index;
  __shared__ draw::Affine map;
  const std::int64_t row = blockIdx.x;
  const std::int64_t pixels = static_cast<std::int64_t>(height) * width;
  if (threadIdx.x == 0) {
    const draw::Place place = draw::place_of(row, *step, order);
    shared_index = place.index;
    map = draw::affine_of(place, order.seed, augmentation, height, width);
    write_labels(out, image_labels, row, place.index);
  }
  __syncthreads();  // the index and the map are known to all threads
  const std::uint8_t* image = images + shared_index * pixels;
  for (std::int64_t k = threadIdx.x; k < pixels; k += kThreads) {
    const int i = static_cast<int>(k / width), j = static_cast<int>(k - k / width * width);
    out.x[row * pixels + k] = distorted(image, map, i, j, height, width, line);
  }
}

}  // namespace

void gather_batch(float* x, std::int32_t* labels, std::int64_t* indices, const std::uint8_t* images,
                  const std::uint8_t* image_labels, std::int64_t rows, std::int64_t height,
                  std::int64_t width, const std::int64_t* step, const BatchOrder& order,
                  const Augmentation& augmentation, const Normalization& normalization,
                  const Stream& stream) {
  const Launch config{blocks_for(rows, 1), kThreads, 0, stream};
  const Outputs outputs{x, labels, indices};
  const draw::Line line = draw::line_of(normalization);
  if (augmentation.any()) {
    launch(sample_kernel, config, outputs, images, image_labels, static_cast<int>(height),
           static_cast<int>(width), step, order, augmentation, line);
  } else {
    launch(copy_kernel, config, outputs, images, image_labels, height * width, step, order, line);
  }
}

}  // namespace weft::kernels::cuda

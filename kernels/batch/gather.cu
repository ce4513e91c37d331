// SPDX-License-Identifier: MIT
// Gathering a batch with a block per image. One thread finds the image and draws its distortion
// (draw.h, the same text as on the CPU); then all threads normalise or sample its pixels. Plain
// copies take four bytes per load and sixteen per store; a 28 x 28 image is 196 of them.
#include "engine/launch.h"
#include "kernels/batch/cuda.h"
#include "kernels/batch/draw.h"
#include "kernels/device/vector.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256;

// The byte at (i, j), or background outside of the image.
__device__ __forceinline__ float pixel_at(const std::uint8_t* image, int i, int j, int height,
                                          int width) {
  const bool inside = i >= 0 && i < height && j >= 0 && j < width;
  return inside ? static_cast<float>(image[static_cast<std::int64_t>(i) * width + j]) : 0.0f;
}

// Bilinear, with background outside.
__device__ __forceinline__ float sample(const std::uint8_t* image, float y, float x, int height,
                                        int width) {
  // Beyond these limits everything is background; within them coordinates fit an int.
  x = fminf(fmaxf(x, -2.0f), static_cast<float>(width + 1));
  y = fminf(fmaxf(y, -2.0f), static_cast<float>(height + 1));
  const int j = static_cast<int>(x + 2.0f) - 2;  // floor, as x + 2 >= 0
  const int i = static_cast<int>(y + 2.0f) - 2;
  const float right = x - static_cast<float>(j), below = y - static_cast<float>(i);
  const float a = pixel_at(image, i, j, height, width);
  const float b = pixel_at(image, i, j + 1, height, width);
  const float c = pixel_at(image, i + 1, j, height, width);
  const float d = pixel_at(image, i + 1, j + 1, height, width);
  const float top = a + right * (b - a), bottom = c + right * (d - c);
  return top + below * (bottom - top);
}

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
      values.lane[i] = __fmaf_rn(line.slope, values.lane[i], line.offset);
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
    const float jf = static_cast<float>(j), rf = static_cast<float>(i);
    const float column = map.x0 + map.xj * jf + map.xi * rf;
    const float line_y = map.y0 + map.yj * jf + map.yi * rf;
    const float value = sample(image, line_y, column, height, width);
    out.x[row * pixels + k] = line.slope * value + line.offset;
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

// SPDX-License-Identifier: MIT
// Gathering a batch on the CPU: plain copies go through a table of the 256 normalised bytes.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/batch/parts/draw.h"
#include "kernels/cpu_math.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace detail {

inline float fused(float a, float x, float b) {
  return __builtin_fmaf(a, x, b);
}
inline double fused(double a, double x, double b) {
  return a * x + b;
}

// The byte at (i, j), or background outside of the image.
template <class T>
T pixel_at(const std::uint8_t* image, std::int64_t i, std::int64_t j, std::int64_t height,
           std::int64_t width) {
  const bool inside = i >= 0 && i < height && j >= 0 && j < width;
  return inside ? static_cast<T>(image[i * width + j]) : T(0);
}

// Clamped to just outside of [0, size), where everything is background, so that it fits an int.
template <class T>
T clamp_coordinate(T value, std::int64_t size) {
  const T low = value < T(-2) ? T(-2) : value;
  return low > static_cast<T>(size + 1) ? static_cast<T>(size + 1) : low;
}

template <class T>
T sample(const std::uint8_t* image, T y, T x, std::int64_t height, std::int64_t width) {
  x = clamp_coordinate(x, width);
  y = clamp_coordinate(y, height);
  const std::int64_t j = static_cast<std::int64_t>(x + 2) - 2;  // floor, as x + 2 >= 0
  const std::int64_t i = static_cast<std::int64_t>(y + 2) - 2;
  const T right = x - static_cast<T>(j), below = y - static_cast<T>(i);
  const T a = pixel_at<T>(image, i, j, height, width);
  const T b = pixel_at<T>(image, i, j + 1, height, width);
  const T c = pixel_at<T>(image, i + 1, j, height, width);
  const T d = pixel_at<T>(image, i + 1, j + 1, height, width);
  const T top = a + right * (b - a), bottom = c + right * (d - c);
  return top + below * (bottom - top);
}

// flatten: philox() and permuted_index() are inlined here, so that no copy of them for this
// instruction set is shared.
[[gnu::flatten]] inline draw::Place place_row(std::int64_t row, std::int64_t step,
                                              const BatchOrder& order) {
  return draw::place_of(row, step, order);
}
[[gnu::flatten]] inline draw::Affine draw_row(const draw::Place& place, std::uint64_t seed,
                                              const Augmentation& limits, std::int64_t height,
                                              std::int64_t width) {
  return draw::affine_of(place, seed, limits, height, width);
}

}  // namespace detail

template <class T>
void gather_batch(T* x, std::int32_t* labels, std::int64_t* indices, const std::uint8_t* images,
                  const std::uint8_t* image_labels, std::int64_t rows, std::int64_t height,
                  std::int64_t width, const std::int64_t* step, const BatchOrder& order,
                  const Augmentation& augmentation, draw::Line line) {
  const std::int64_t pixels = height * width;
  const T slope = line.slope, offset = line.offset;
  T table[256];
  for (int byte = 0; byte < 256; ++byte) {
    table[byte] = detail::fused(slope, static_cast<T>(byte), offset);
  }
  const bool distort = augmentation.any();
#pragma omp parallel for schedule(static) if (rows * pixels >= kParallelElements)
  for (std::int64_t row = 0; row < rows; ++row) {
    const draw::Place place = detail::place_row(row, *step, order);
    const std::uint8_t* image = images + place.index * pixels;
    T* out = x + row * pixels;
    if (labels != nullptr) labels[row] = image_labels[place.index];
    if (indices != nullptr) indices[row] = place.index;
    if (!distort) {
      for (std::int64_t k = 0; k < pixels; ++k) out[k] = table[image[k]];
      continue;
    }
    const draw::Affine map = detail::draw_row(place, order.seed, augmentation, height, width);
    for (std::int64_t i = 0; i < height; ++i) {
      for (std::int64_t j = 0; j < width; ++j) {
        const T jt = static_cast<T>(j), it = static_cast<T>(i);
        const T column = map.x0 + map.xj * jt + map.xi * it;
        const T line_y = map.y0 + map.yj * jt + map.yi * it;
        const T value = detail::sample(image, line_y, column, height, width);
        out[i * width + j] = slope * value + offset;
      }
    }
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

// SPDX-License-Identifier: MIT
// Gathering a batch on the CPU: plain copies go through a table of the 256 normalised bytes.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/batch/parts/draw.h"
#include "kernels/cpu_math.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace detail {

// The byte at (i, j), or background outside of the image.
template <class T>
T pixel_at(const std::uint8_t* image, std::int64_t i, std::int64_t j, std::int64_t height,
           std::int64_t width) {
  const bool inside = i >= 0 && i < height && j >= 0 && j < width;
  return inside ? static_cast<T>(image[i * width + j]) : T(0);
}

// Clamped to just outside of [0, size), where everything is background, so that it fits an int. So
// is NaN, which an image makes that is larger than a float can say.
template <class T>
T clamp_coordinate(T value, std::int64_t size) {
  const T low = value > T(-2) ? value : T(-2);
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
[[gnu::flatten]] inline std::int64_t source_row(const draw::Place& place, std::int64_t row,
                                                std::int64_t step, const BatchOrder& order) {
  return draw::source_of(place.index, row, step, order);
}
[[gnu::flatten]] inline void draw_row(draw::Distortion& drawn, const draw::Place& place,
                                      std::uint64_t seed, const Augmentation& limits,
                                      const draw::Lines& lines, const BatchDims& dims) {
  draw::draw_distortion(drawn, place, seed, limits, lines, static_cast<int>(dims.height),
                        static_cast<int>(dims.width));
}

// One channel of an image, both (height, width).
template <class T>
void distort_plane(T* out, const std::uint8_t* plane, const draw::Distortion& d, draw::Line line,
                   const BatchDims& dims) {
  const int height = static_cast<int>(dims.height), width = static_cast<int>(dims.width);
  for (int i = 0; i < height; ++i) {
    for (int j = 0; j < width; ++j, ++out) {
      const int from_i = d.row(i), from_j = d.column(j, width);
      if (d.cuts(i, j)) {
        *out = T(0);
      } else if (d.warped) {
        const T jt = static_cast<T>(from_j), it = static_cast<T>(from_i);
        const T column = d.map.x0 + d.map.xj * jt + d.map.xi * it;
        const T line_y = d.map.y0 + d.map.yj * jt + d.map.yi * it;
        *out = draw::normalized(sample(plane, line_y, column, dims.height, dims.width), line);
      } else {
        *out = draw::normalized(pixel_at<T>(plane, from_i, from_j, dims.height, dims.width), line);
      }
    }
  }
}

}  // namespace detail

template <class T>
void gather_batch(T* x, std::int32_t* labels, std::int64_t* indices, const std::uint8_t* images,
                  const std::int32_t* image_labels, std::int64_t rows, const BatchDims& dims,
                  const std::int64_t* step, const BatchOrder& order,
                  const Augmentation& augmentation, const draw::Lines& lines) {
  const std::int64_t plane = dims.plane();
  T table[kMaxImageChannels][256];
  for (std::int64_t c = 0; c < dims.channels; ++c) {
    for (int byte = 0; byte < 256; ++byte) {
      table[c][byte] = draw::normalized(static_cast<T>(byte), lines.of[c]);
    }
  }
  const bool distort = augmentation.any();
#pragma omp parallel for schedule(static) if (rows * dims.pixels() >= kParallelElements)
  for (std::int64_t row = 0; row < rows; ++row) {
    const draw::Place place = detail::place_row(row, *step, order);
    const std::int64_t source = detail::source_row(place, row, *step, order);
    if (labels != nullptr) labels[row] = image_labels[source];
    if (indices != nullptr) indices[row] = place.index;
    draw::Distortion drawn{};
    if (distort) detail::draw_row(drawn, place, order.seed, augmentation, lines, dims);
    for (std::int64_t c = 0; c < dims.channels; ++c) {
      const std::uint8_t* from = images + (source * dims.channels + c) * plane;
      T* out = x + (row * dims.channels + c) * plane;
      if (distort) {
        detail::distort_plane(out, from, drawn, drawn.lines.of[c], dims);
      } else {
        for (std::int64_t k = 0; k < plane; ++k) out[k] = table[c][from[k]];
      }
    }
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

// SPDX-License-Identifier: MIT
// Images on the CPU. Everything is integer arithmetic, so there is one version for all types.
#pragma once

#include "engine/extent.h"
#include "kernels/cpu_math.h"
#include "kernels/image/cpu/table.h"
#include "kernels/image/parts/grey.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

inline void rgb_to_grey(std::uint8_t* grey, const std::uint8_t* rgb, std::int64_t pixels) {
#pragma omp parallel for simd schedule(static) if (parallel : pixels >= kParallelElements)
  for (std::int64_t i = 0; i < pixels; ++i) {
    grey[i] = image::grey_of(rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]);
  }
}

namespace detail {

// The part of [centre - radius, centre + radius] that lies in [0, extent).
struct Window {
  std::int64_t first, last;

  Window(std::int64_t centre, std::int64_t radius, std::int64_t extent)
      : first(centre > radius ? centre - radius : 0),
        last(extent - 1 - centre > radius ? centre + radius : extent - 1) {}
  std::int64_t size() const { return last - first + 1; }
};

}  // namespace detail

// Adds up the whole window of every pixel: the oracle of the others.
inline void box_blur_naive(std::uint8_t* y, const std::uint8_t* x, const ImageDims& dims,
                           std::int64_t radius) {
  const std::int64_t row_bytes = dims.width * dims.channels;
#pragma omp parallel for schedule(static) if (dims.height * row_bytes >= kParallelElements)
  for (std::int64_t row = 0; row < dims.height; ++row) {
    const detail::Window rows(row, radius, dims.height);
    for (std::int64_t at = 0; at < row_bytes; ++at) {
      const std::int64_t channel = at % dims.channels;
      const detail::Window columns(at / dims.channels, radius, dims.width);
      std::uint64_t sum = 0;
      for (std::int64_t i = rows.first; i <= rows.last; ++i) {
        for (std::int64_t j = columns.first; j <= columns.last; ++j) {
          sum += x[i * row_bytes + j * dims.channels + channel];
        }
      }
      y[row * row_bytes + at] =
          image::mean_of(sum, static_cast<std::uint64_t>(rows.size() * columns.size()));
    }
  }
}

// A sum for each column of the window's rows, moved down one row at a time, and a sum over columns
// that moves right one pixel at a time: the work per pixel does not depend on the radius. Columns
// of up to 2^24 rows fit their 32 bits.
inline void box_blur_running_sums(std::uint8_t* y, const std::uint8_t* x, const ImageDims& dims,
                                  std::int64_t radius, std::uint32_t* sums) {
  const std::int64_t channels = dims.channels, row_bytes = dims.width * channels;
  const std::int64_t strips = divide_up(dims.height, kBlurStrip);
#pragma omp parallel for schedule(static) if (dims.height * row_bytes >= kParallelElements)
  for (std::int64_t strip = 0; strip < strips; ++strip) {
    std::uint32_t* column_sums = sums + strip * row_bytes;
    const std::int64_t begin = strip * kBlurStrip;
    const std::int64_t end = dims.height - begin < kBlurStrip ? dims.height : begin + kBlurStrip;
    const auto change = [&](std::int64_t row, std::uint32_t sign) {
      const std::uint8_t* in = x + row * row_bytes;
#pragma omp simd
      for (std::int64_t at = 0; at < row_bytes; ++at) column_sums[at] += sign * in[at];
    };
    for (std::int64_t at = 0; at < row_bytes; ++at) column_sums[at] = 0;
    const detail::Window top(begin, radius, dims.height);
    for (std::int64_t row = top.first; row <= top.last; ++row) change(row, 1);
    for (std::int64_t row = begin; row < end; ++row) {
      const detail::Window rows(row, radius, dims.height);
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        const detail::Window left(0, radius, dims.width);
        std::uint64_t sum = 0;
        for (std::int64_t j = 0; j <= left.last; ++j) sum += column_sums[j * channels + channel];
        for (std::int64_t j = 0; j < dims.width; ++j) {
          const detail::Window columns(j, radius, dims.width);
          y[row * row_bytes + j * channels + channel] =
              image::mean_of(sum, static_cast<std::uint64_t>(rows.size() * columns.size()));
          if (j + 1 == dims.width) break;
          if (dims.width - 1 - j > radius)
            sum += column_sums[(j + 1 + radius) * channels + channel];
          if (j >= radius) sum -= column_sums[(j - radius) * channels + channel];
        }
      }
      if (row + 1 == end) break;
      if (dims.height - 1 - row > radius) change(row + 1 + radius, 1);
      if (row >= radius) change(row - radius, static_cast<std::uint32_t>(-1));
    }
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

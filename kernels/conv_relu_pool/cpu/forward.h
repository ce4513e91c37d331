// SPDX-License-Identifier: MIT
// Convolution with ReLU and max pooling on the CPU: rows of the large map are computed as in
// implicit_gemm.h, pooled while they are in the first-level cache and forgotten.
//
//   filters in rows   the map lies as (filter, row, column); 2 x 2 windows, taken apart in
//                     registers into even and odd columns, or never stored (pooled_tile.h)
//   pixels in rows    the map lies as (pixel, filter), so that a window of any size is a maximum of
//                     whole vectors; the pooled map is transposed on its way to y
//
// Threads own images. Included by instances.cpp only: see kernels/isa.h.
#pragma once

#include "engine/extent.h"
#include "kernels/conv/cpu/implicit_gemm.h"
#include "kernels/conv_relu_pool/conv_relu_pool.h"
#include "kernels/conv_relu_pool/cpu/pooled_tile.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace relu_pool {

using packed::least;

struct ForwardJob {
  ReluPoolDims dims;
  Correlation map;  // of the part that is pooled
  std::int64_t rows, columns;

  explicit ForwardJob(const ReluPoolDims& dims_)
      : dims(dims_),
        map(correlation::forward_of(dims_.conv)),
        rows(dims_.rows()),
        columns(dims_.columns()) {
    map.oh = rows * dims.ph;
    map.ow = columns * dims.pw;
    map.pixels_in_rows_only = dims.ph != 2 || dims.pw != 2;
  }

  std::int64_t line() const { return round_up(map.ow, 2 * kLanes); }
  // Rows of windows pooled at a time.
  std::int64_t strip() const {
    return map.filters_in_rows() ? 1 : correlation::strip_rows(dims.ph * map.ow, rows);
  }
  std::int64_t map_floats() const {
    if (map.filters_in_rows()) return round_up(map.filters * 2 * line(), 16);
    return round_up(strip() * dims.ph * map.ow, kLanes) * kTileColumns;
  }
  std::int64_t pooled_floats() const {
    return map.filters_in_rows() ? 0 : round_up(strip() * columns, kLanes) * kTileColumns;
  }
  std::int64_t thread_floats() const {
    return map.thread_floats() + map_floats() + 2 * pooled_floats();
  }
};

// One row of windows of every filter, from two rows of the map (filter, 2, line). That of the first
// filter begins at y[first].
template <bool kArgmax>
void pool_pairs(const ForwardJob& job, float* y, std::uint8_t* argmax, std::int64_t first,
                const float* map) {
  const std::int64_t line = job.line(), plane = job.rows * job.columns;
  for (std::int64_t filter = 0; filter < job.map.filters; ++filter) {
    const float* top = map + filter * 2 * line;
    for (std::int64_t v = 0; v < job.columns; v += kLanes) {
      const simd::Pair upper = simd::deinterleave(top + 2 * v);
      const simd::Pair lower = simd::deinterleave(top + line + 2 * v);
      put_windows<kArgmax>(y, argmax, first + filter * plane + v, upper, lower,
                           least(kLanes, job.columns - v));
    }
  }
}

// Windows of a panel of filters, from sums (pixel, width): maxima and, where kArgmax, indices
// (window, width).
template <bool kArgmax>
void pool_pixels(const ForwardJob& job, float* maxima, float* indices, const float* sums,
                 std::int64_t width, std::int64_t rows) {
  const std::int64_t line = job.map.ow * width;
  for (std::int64_t j = 0; j < width; j += kLanes) {
    for (std::int64_t u = 0; u < rows; ++u) {
      for (std::int64_t v = 0; v < job.columns; ++v) {
        const float* corner = sums + u * job.dims.ph * line + v * job.dims.pw * width + j;
        simd::Maximum best(simd::load(corner), 0);
        for (std::int64_t r = 0, index = 0; r < job.dims.ph; ++r) {
          for (std::int64_t s = 0; s < job.dims.pw; ++s, ++index) {
            if (index == 0) continue;
            best.take(simd::load(corner + r * line + s * width), static_cast<int>(index));
          }
        }
        const std::int64_t at = (u * job.columns + v) * width + j;
        simd::store(maxima + at, best.value);
        if (kArgmax) simd::store(indices + at, __builtin_bit_cast(FloatVector, best.index));
      }
    }
  }
}

template <bool kArgmax>
void pool_image(const ForwardJob& job, float* y, std::uint8_t* argmax, const float* image,
                const float* packed_w, const std::int64_t* offsets, const float* bias, float* map) {
  const std::int64_t plane = job.rows * job.columns, ph = job.dims.ph;
  if (fits_pooled_tile(job.map) && ph == 2 && job.dims.pw == 2) {
    const std::int64_t width = job.map.placement.width;
    for (std::int64_t u = 0; u < job.rows; ++u) {
      const PooledRows rows{.y = y,
                            .argmax = argmax,
                            .at = u * job.columns,
                            .plane = plane,
                            .columns = job.columns,
                            .pixels = image + u * ph * width,
                            .width = width,
                            .offsets = offsets,
                            .depth = job.map.depth()};
      pool_tiles<kArgmax>(job.map, rows, packed_w, bias);
    }
    return;
  }
  if (job.map.filters_in_rows()) {
    for (std::int64_t u = 0; u < job.rows; ++u) {
      const correlation::Maps maps{map, 2 * job.line(), job.line(), bias, false, false, true};
      correlation::filters_in_rows(job.map, maps, image, packed_w, offsets, u * ph, (u + 1) * ph);
      pool_pairs<kArgmax>(job, y, argmax, u * job.columns, map);
    }
    return;
  }
  float* maxima = map + job.map_floats();
  float* indices = maxima + job.pooled_floats();
  const Split strips(job.rows, job.strip());
  for (std::int64_t first = 0; first < job.map.filters; first += kTileColumns) {
    const correlation::FilterPanel panel(job.map, packed_w, bias, first);
    const std::int64_t width = panel.width;
    for (std::int64_t strip = 0; strip < strips.pieces; ++strip) {
      const std::int64_t begin = strips.begin(strip), end = strips.begin(strip + 1);
      correlation::pixels_in_rows(job.map, map, image, 0, panel, offsets, begin * ph, end * ph);
      pool_pixels<kArgmax>(job, maxima, indices, map, width, end - begin);
      packed::for_each_square(
          panel.filters, (end - begin) * job.columns,
          [&](std::int64_t f, std::int64_t count, std::int64_t window, std::int64_t lanes) {
            FloatVector best[kLanes], index[kLanes] = {};
            packed::load_transposed(best, maxima + window * width + f, width);
            if (kArgmax) packed::load_transposed(index, indices + window * width + f, width);
            std::int64_t at = (first + f) * plane + begin * job.columns + window;
            for (std::int64_t i = 0; i < count; ++i, at += plane) {
              put<kArgmax>(y, argmax, at, best[i], __builtin_bit_cast(IndexVector, index[i]),
                           lanes);
            }
          });
    }
  }
}

}  // namespace relu_pool

// All extents > 0, of the pooled map too.
inline void conv2d_relu_pool_forward_strips(float* y, std::uint8_t* argmax, const float* x,
                                            const float* w, const float* bias,
                                            const ReluPoolDims& dims) {
  const relu_pool::ForwardJob job(dims);
  const std::int64_t shared = job.map.offset_floats() + job.map.filter_floats();
  const correlation::Scratch scratch(job.map, correlation::scratch_of(shared, job.thread_floats()));
  job.map.tabulate_offsets(scratch.offsets);
  const std::int64_t plane = job.map.filters * job.rows * job.columns;
  const auto pool = argmax != nullptr ? relu_pool::pool_image<true> : relu_pool::pool_image<false>;
#pragma omp parallel if (job.map.worth_threads())
  {
    float* own = scratch.threads + correlation::thread_index() * job.thread_floats();
    float* map = own + job.map.thread_floats();
    for (std::int64_t e = 0; e < job.map.thread_floats(); ++e) own[e] = 0.0f;
    pack_filters(scratch.packed_w, w, job.map);
#pragma omp for schedule(static)
    for (std::int64_t i = 0; i < job.map.n; ++i) {
      pool(job, y + i * plane, argmax != nullptr ? argmax + i * plane : nullptr,
           job.map.image_of(own, x, i), scratch.packed_w, scratch.offsets, bias, map);
    }
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

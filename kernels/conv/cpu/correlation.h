// SPDX-License-Identifier: MIT
// Convolution on the CPU as a cross-correlation without padding over a copied image: what forward
// and backward data have in common. Backward data is the correlation of dy, spread out by the
// strides and framed by zeros, with the filters turned by half a turn.
//
// With k = (c, r, s), the element A(pixel, k) of the im2col matrix lies at pixel + offset[k] of the
// padded image, so the register tile of gemm/cpu/register_tile.h reads it there. Two ways to lay
// the product over the tile, chosen by the arithmetic that their vectors waste:
//
//   pixels in rows    pixels of an output row are broadcast, filters lie along vectors
//   filters in rows   filter weights are broadcast, pixels of an output row lie along vectors
//                     (stride 1 only; better for few filters)
//
// Included by kernels/conv/cpu/instances.cpp only: see kernels/isa.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/extent.h"
#include "kernels/conv/conv.h"
#include "kernels/gemm/cpu/packed.h"
#include "kernels/gemm/cpu/scratch.h"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace correlation {

using packed::least;

inline int thread_index() {
#ifdef _OPENMP
  return omp_get_thread_num();
#else
  return 0;
#endif
}

inline int thread_count() {  // of the region that this is called in
#ifdef _OPENMP
  return omp_get_num_threads();
#else
  return 1;
#endif
}

// Scratch of this many floats, and of so many for each thread; see gemm/cpu/scratch.h.
inline float* scratch_of(std::int64_t shared, std::int64_t thread_floats) {
#ifdef _OPENMP
  const std::int64_t threads = omp_get_max_threads();
#else
  const std::int64_t threads = 1;
#endif
  return thread_scratch(static_cast<std::size_t>(shared + threads * thread_floats));
}

// Where the pixels of a source image go in a zeroed image of height x width:
// (i, j) -> (i * step_h + shift_h, j * step_w + shift_w), dropped when outside.
struct Placement {
  std::int64_t height, width;
  std::int64_t step_h = 1, step_w = 1, shift_h = 0, shift_w = 0;
};

inline void place(float* image, const float* source, std::int64_t channels, std::int64_t h,
                  std::int64_t w, const Placement& to) {
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t i = 0; i < h; ++i) {
      const std::int64_t row = i * to.step_h + to.shift_h;
      if (row < 0 || row >= to.height) continue;
      float* out = image + (c * to.height + row) * to.width;
      const float* in = source + (c * h + i) * w;
      if (to.step_w == 1) {
        const std::int64_t begin = to.shift_w < 0 ? -to.shift_w : 0;
        const std::int64_t end = least(w, to.width - to.shift_w);
        for (std::int64_t j = begin; j < end; ++j) out[j + to.shift_w] = in[j];
      } else {
        for (std::int64_t j = 0; j < w; ++j) {
          const std::int64_t column = j * to.step_w + to.shift_w;
          if (column >= 0 && column < to.width) out[column] = in[j];
        }
      }
    }
  }
}

// A cross-correlation without padding over an image that `placement` makes from the source.
// Weight (filter, channel, r, s) is at w[filter * w_filter + channel * w_channel + r * w_r + s *
// w_s].
struct Correlation {
  std::int64_t n, channels, source_h, source_w;
  Placement placement;
  std::int64_t filters, kh, kw, stride_h, stride_w, oh, ow;
  std::int64_t w_origin, w_filter, w_channel, w_r, w_s;
  bool pixels_in_rows_only = false;

  std::int64_t depth() const { return channels * kh * kw; }
  std::int64_t image() const { return channels * placement.height * placement.width; }
  bool filters_in_rows() const {
    if (pixels_in_rows_only || stride_h != 1 || stride_w != 1) return false;
    constexpr std::int64_t kStore = 2, kTransposingStore = 8;  // of a tile, in steps of k
    return filters * round_up(ow, kLanes) * (depth() + kStore) <
           round_up(filters, kLanes) * ow * (depth() + kTransposingStore);
  }
  // Vectors of a tile when filters lie in its rows: a row of pixels in nearly equal pieces, or, of
  // rows no wider than a vector, one of each of two rows.
  bool paired() const { return ow <= kLanes; }
  int row_vectors() const {
    if (paired()) return 2;
    const Split pieces(divide_up(ow, kLanes), 3);
    return static_cast<int>(divide_up(pieces.total, pieces.pieces));
  }
  // Vectors of pixels read past the end of the last row, so they need slack behind the image.
  bool copied() const {
    return filters_in_rows() || placement.height != source_h || placement.width != source_w;
  }
  std::int64_t offset_floats() const { return round_up(2 * depth(), 16); }
  std::int64_t filter_floats() const { return round_up(filters, kTileColumns) * depth(); }
  std::int64_t thread_floats() const { return copied() ? round_up(image() + kTileColumns, 16) : 0; }
  // Images that a thread takes at once, if there are so many: as many as stay in the second-level
  // cache beside a panel of filters.
  std::int64_t group() const {
    constexpr std::int64_t kFloats = 128 * 1024;
    return filters_in_rows() ? 1 : least(n, kFloats / image() + 1);
  }
  bool worth_threads() const { return 2 * n * filters * oh * ow * depth() > 1000000; }

  void tabulate_offsets(std::int64_t* offsets) const {
    for (std::int64_t k = 0; k < depth(); ++k) {
      const std::int64_t c = k / (kh * kw), r = k / kw % kh, s = k % kw;
      offsets[k] = (c * placement.height + r) * placement.width + s;
    }
  }
  // Image i as the loops read it: where it lies, or placed in `own` (thread_floats(), zeroed).
  const float* image_of(float* own, const float* x, std::int64_t i) const {
    const float* source = x + i * channels * source_h * source_w;
    if (!copied()) return source;
    place(own, source, channels, source_h, source_w, placement);
    return own;
  }
};

inline Correlation forward_of(const ConvDims& d) {
  const std::int64_t taps = d.kh * d.kw;
  return {.n = d.n,
          .channels = d.c,
          .source_h = d.h,
          .source_w = d.w,
          .placement = {.height = d.h + 2 * d.pad_h,
                        .width = d.w + 2 * d.pad_w,
                        .shift_h = d.pad_h,
                        .shift_w = d.pad_w},
          .filters = d.oc,
          .kh = d.kh,
          .kw = d.kw,
          .stride_h = d.stride_h,
          .stride_w = d.stride_w,
          .oh = d.oh(),
          .ow = d.ow(),
          .w_origin = 0,
          .w_filter = d.c * taps,
          .w_channel = taps,
          .w_r = d.kw,
          .w_s = 1};
}

// dy is spread out by the strides and framed by zeros; the filters are turned by half a turn.
inline Correlation backward_of(const ConvDims& d) {
  const std::int64_t taps = d.kh * d.kw;
  return {.n = d.n,
          .channels = d.oc,
          .source_h = d.oh(),
          .source_w = d.ow(),
          .placement = {.height = d.h + d.kh - 1,
                        .width = d.w + d.kw - 1,
                        .step_h = d.stride_h,
                        .step_w = d.stride_w,
                        .shift_h = d.kh - 1 - d.pad_h,
                        .shift_w = d.kw - 1 - d.pad_w},
          .filters = d.c,
          .kh = d.kh,
          .kw = d.kw,
          .stride_h = 1,
          .stride_w = 1,
          .oh = d.h,
          .ow = d.w,
          .w_origin = taps - 1,
          .w_filter = taps,
          .w_channel = d.c * taps,
          .w_r = -d.kw,
          .w_s = -1};
}

// Filters of one channel, in panels (depth, width) or in row tiles (depth, rows).
inline void pack_channel(float* packed_w, const float* w, const Correlation& job,
                         std::int64_t channel) {
  const std::int64_t taps = job.kh * job.kw, depth = job.depth();
  const auto pack = [&](std::int64_t first, std::int64_t end, std::int64_t width) {
    float* panel = packed_w + first * depth + channel * taps * width;
    const float* from = w + job.w_origin + first * job.w_filter + channel * job.w_channel;
    for (std::int64_t r = 0; r < job.kh; ++r) {
      for (std::int64_t s = 0; s < job.kw; ++s) {
        for (std::int64_t f = 0; f < width; ++f) {
          *panel++ = first + f < end ? from[f * job.w_filter + r * job.w_r + s * job.w_s] : 0.0f;
        }
      }
    }
  };
  if (job.filters_in_rows()) {
    const Split split(job.filters, tile_rows(job.row_vectors()));
    for (std::int64_t piece = 0; piece < split.pieces; ++piece) {
      const std::int64_t first = split.begin(piece), end = split.begin(piece + 1);
      pack(first, end, end - first);
    }
  } else {
    for (std::int64_t first = 0; first < job.filters; first += kTileColumns) {
      pack(first, job.filters, least(kTileColumns, round_up(job.filters - first, kLanes)));
    }
  }
}

// All filters; every thread of a parallel region calls it. Where a filter lies as in a panel,
// panels are transposed as a whole: channel by channel, reads of all filters of a panel would
// displace each other from the first-level cache.
inline void pack_filters(float* packed_w, const float* w, const Correlation& job) {
  const std::int64_t depth = job.depth();
  if (job.w_s > 0 && !job.filters_in_rows()) {
#pragma omp for schedule(static)
    for (std::int64_t first = 0; first < job.filters; first += kTileColumns) {
      const std::int64_t filters = least(kTileColumns, job.filters - first);
      packed::pack_panel(packed_w + first * depth, round_up(filters, kLanes),
                         w + first * job.w_filter, 1, job.w_filter, filters, depth);
    }
  } else {
#pragma omp for schedule(static)
    for (std::int64_t c = 0; c < job.channels; ++c) pack_channel(packed_w, w, job, c);
  }
}

}  // namespace correlation

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

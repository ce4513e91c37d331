// SPDX-License-Identifier: MIT
// The weight gradient on the CPU, as an implicit GEMM whose long dimension is the pixels:
//
//   dw[tap, o] = sum over images and pixels of x[pixel + offset(tap)] * dy[o, pixel]
//
// dy of one image is transposed to (pixel, filter) panels, so filters lie along vectors; taps are
// the broadcast rows. The taps s of one kernel row are adjacent in the image, so a tile takes some
// kernel rows (c, r), one pointer each, times up to kMaxSpan adjacent taps.
//
// Images are cut into a number of chunks that depends on the dimensions alone; a chunk has its own
// sums, and the sums are added in order at the end, so results do not depend on the threads.
// Scratch: pixel offsets, sums of all chunks, then per thread a padded image and the panels of dy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/extent.h"
#include "kernels/conv/cpu/correlation.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace weight_gradient {

using correlation::Placement;
using packed::least;

constexpr int kMaxSpan = 5;  // kernels wider than this are cut into nearly equal pieces

struct Job {
  ConvDims d;
  Placement placement;
  std::int64_t pixels, taps, filters;  // filters rounded up to whole vectors

  explicit Job(const ConvDims& dims)
      : d(dims),
        placement{d.h + 2 * d.pad_h, d.w + 2 * d.pad_w, 1, 1, d.pad_h, d.pad_w},
        pixels(d.oh() * d.ow()),
        taps(d.c * d.kh * d.kw),
        filters(round_up(d.oc, kLanes)) {}

  bool padded() const { return d.pad_h != 0 || d.pad_w != 0; }
  std::int64_t chunk_floats() const { return (taps + 1) * filters; }  // the last row is db
  std::int64_t chunks() const {
    constexpr std::int64_t kMost = 16, kMostFloats = std::int64_t{1} << 24;
    const std::int64_t fit = kMostFloats / chunk_floats();
    return least(d.n, fit < 1 ? 1 : least(fit, kMost));
  }
  std::int64_t offset_floats() const { return round_up(2 * pixels, 16); }
  std::int64_t image_floats() const {
    return padded() ? round_up(d.c * placement.height * placement.width, 16) : 0;
  }
  std::int64_t thread_floats() const { return image_floats() + pixels * filters; }
};

// Adds one tile's products over all pixels to its sums (kRows, width).
template <int kSpan>
inline void multiply_taps(float* sums, bool add, const float* const* lines, std::int64_t rows,
                          std::int64_t width, const std::int64_t* offsets, const float* panel,
                          std::int64_t pixels) {
  static constexpr TileKernels<kTileVectors, kSpan, kSpan, Unit, Table, Linear, Tile> kKernels;
  kKernels(rows, width / kLanes)(Tile{sums, add}, lines, Unit{}, Table{offsets}, panel,
                                 Linear{width}, pixels);
}

// The sums of one image and one panel of filters: rows in the order (piece of s, c, r, s).
template <int kSpan>
inline void add_span(const Job& job, float* sums, bool add, const float* image, std::int64_t s,
                     std::int64_t width, const std::int64_t* offsets, const float* panel) {
  constexpr std::int64_t kMostLines = kTileRows / kSpan;
  const std::int64_t kernel_rows = job.d.c * job.d.kh;
  const Split split(kernel_rows, kMostLines);
  for (std::int64_t piece = 0; piece < split.pieces; ++piece) {
    const std::int64_t first = split.begin(piece), count = split.begin(piece + 1) - first;
    const float* lines[kMostLines];
    for (std::int64_t line = 0; line < count; ++line) {
      const std::int64_t c = (first + line) / job.d.kh, r = (first + line) % job.d.kh;
      lines[line] = image + (c * job.placement.height + r) * job.placement.width + s;
    }
    multiply_taps<kSpan>(sums + (s * kernel_rows + first * kSpan) * width, add, lines,
                         count * kSpan, width, offsets, panel, job.pixels);
  }
}

inline void add_image(const Job& job, float* sums, bool add, const float* image, const float* dy,
                      const std::int64_t* offsets, float* panels) {
  const Split spans(job.d.kw, kMaxSpan);
  for (std::int64_t first = 0; first < job.d.oc; first += kTileColumns) {
    const std::int64_t width = least(kTileColumns, job.filters - first);
    float* panel = panels + first * job.pixels;
    float* panel_sums = sums + first * (job.taps + 1);
    packed::pack_panel(panel, width, dy + first * job.pixels, 1, job.pixels, job.d.oc - first,
                       job.pixels);
    for (std::int64_t span = 0; span < spans.pieces; ++span) {
      const std::int64_t s = spans.begin(span);
      switch (spans.begin(span + 1) - s) {
        case 1:
          add_span<1>(job, panel_sums, add, image, s, width, offsets, panel);
          break;
        case 2:
          add_span<2>(job, panel_sums, add, image, s, width, offsets, panel);
          break;
        case 3:
          add_span<3>(job, panel_sums, add, image, s, width, offsets, panel);
          break;
        case 4:
          add_span<4>(job, panel_sums, add, image, s, width, offsets, panel);
          break;
        default:
          add_span<5>(job, panel_sums, add, image, s, width, offsets, panel);
          break;
      }
    }
    float* bias_sums = panel_sums + job.taps * width;
    for (std::int64_t j = 0; j < width; j += kLanes) {
      FloatVector sum = {};
      for (std::int64_t p = 0; p < job.pixels; ++p) sum += simd::load(panel + p * width + j);
      if (add) sum += simd::load(bias_sums + j);
      simd::store(bias_sums + j, sum);
    }
  }
}

// Adds the chunks of one row of sums in order and puts it where the contract wants it.
inline void reduce_row(const Job& job, float* dw, float* db, const float* sums, std::int64_t chunks,
                       std::int64_t first, std::int64_t row, bool add) {
  const std::int64_t width = least(kTileColumns, job.filters - first);
  const std::int64_t kernel_rows = job.d.c * job.d.kh;
  std::int64_t step = 1;
  float* out = db == nullptr ? nullptr : db + first;
  if (row < job.taps) {
    const Split spans(job.d.kw, kMaxSpan);
    std::int64_t span = 0;
    while (row >= spans.begin(span + 1) * kernel_rows) ++span;
    const std::int64_t s = spans.begin(span), length = spans.begin(span + 1) - s;
    const std::int64_t local = row - s * kernel_rows;
    step = job.taps;
    out = dw + first * job.taps + local / length * job.d.kw + s + local % length;
  }
  if (out == nullptr) return;
  const float* from = sums + first * (job.taps + 1) + row * width;
  const std::int64_t filters = least(width, job.d.oc - first);
  for (std::int64_t j = 0; j < filters; j += kLanes) {
    FloatVector sum = {};
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      sum += simd::load(from + chunk * job.chunk_floats() + j);
    }
    const std::int64_t lanes = least(kLanes, filters - j);
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      float& target = out[(j + lane) * step];
      target = add ? target + sum[lane] : sum[lane];
    }
  }
}

}  // namespace weight_gradient

inline std::size_t conv2d_backward_weights_scratch(const ConvDims& d, int threads) {
  const weight_gradient::Job job(d);
  return static_cast<std::size_t>(job.offset_floats() + job.chunks() * job.chunk_floats() +
                                  threads * job.thread_floats());
}

// All extents but n > 0.
inline void conv2d_backward_weights_implicit_gemm(float* dw, float* db, const float* dy,
                                                  const float* x, const ConvDims& d,
                                                  GradientMode mode, float* scratch) {
  using namespace weight_gradient;
  const Job job(d);
  const std::int64_t chunks = job.chunks();
  const bool add = mode == GradientMode::accumulate;
  std::int64_t* offsets = reinterpret_cast<std::int64_t*>(scratch);
  float* sums = scratch + job.offset_floats();
  float* threads = sums + chunks * job.chunk_floats();
  for (std::int64_t p = 0; p < d.oh(); ++p) {
    for (std::int64_t q = 0; q < d.ow(); ++q) {
      offsets[p * d.ow() + q] = p * d.stride_h * job.placement.width + q * d.stride_w;
    }
  }
  const Split images(d.n, chunks > 0 ? divide_up(d.n, chunks) : 1);
#pragma omp parallel if (2 * d.n * job.pixels * d.oc * job.taps > 1000000)
  {
    float* own = threads + correlation::thread_index() * job.thread_floats();
    float* panels = own + job.image_floats();
    for (std::int64_t e = 0; e < job.image_floats(); ++e) own[e] = 0.0f;
#pragma omp for schedule(static)
    for (std::int64_t chunk = 0; chunk < images.pieces; ++chunk) {
      const std::int64_t first = images.begin(chunk);
      for (std::int64_t i = first; i < images.begin(chunk + 1); ++i) {
        const float* image = x + i * d.c * d.h * d.w;
        if (job.padded()) {
          correlation::place(own, image, d.c, d.h, d.w, job.placement);
          image = own;
        }
        add_image(job, sums + chunk * job.chunk_floats(), i > first, image,
                  dy + i * d.oc * job.pixels, offsets, panels);
      }
    }
#pragma omp for schedule(static)
    for (std::int64_t row = 0; row <= job.taps; ++row) {
      for (std::int64_t first = 0; first < d.oc; first += kTileColumns) {
        reduce_row(job, dw, db, sums, images.pieces, first, row, add);
      }
    }
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

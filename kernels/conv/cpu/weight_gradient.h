// SPDX-License-Identifier: MIT
// The weight gradient on the CPU, as an implicit GEMM whose long dimension is the pixels:
//
//   dw[tap, o] = sum over images and pixels of x[pixel + offset(tap)] * dy[o, pixel]
//
// dy is transposed to (pixel, filter) panels, so filters lie along vectors; taps are the broadcast
// rows. The taps s of one kernel row are adjacent in the image, so a tile takes some kernel rows
// (c, r), one pointer each, times up to kMaxSpan adjacent taps. Small images go in groups, since a
// tile that has few pixels waits for its sums to come from the shared cache.
//
// Images are cut into a number of chunks that depends on the dimensions alone; a chunk has its own
// sums, and the sums are added in order at the end, so results do not depend on the threads. Where
// sums are large, chunks are few, and threads share a chunk's filters. In each round they pad the
// next group of every chunk, and then multiply.
// Scratch: pixel offsets, sums of all chunks, their groups of padded images, then per thread a
// panel of dy.
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
constexpr std::int64_t kMostChunks = 16, kTasks = 64;  // tasks: of a round, where filters suffice

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
    constexpr std::int64_t kMostSums = std::int64_t{1} << 22, kMostPadded = 8 * kMostSums;
    const std::int64_t fit = least(kMostSums / chunk_floats(), kMostPadded / step());
    return least(d.n, fit < 1 ? 1 : least(fit, kMostChunks));
  }
  // Ranges of filters, so that chunks by ranges are work for many threads.
  Split ranges() const {
    const std::int64_t panels = divide_up(d.oc, kTileColumns);
    const std::int64_t wanted = divide_up(kTasks, chunks() < 1 ? 1 : chunks());
    return {panels, divide_up(panels, wanted)};
  }
  // Images that a thread takes at once: as many as stay in the second-level cache with their panel.
  std::int64_t group() const {
    constexpr std::int64_t kFloats = 128 * 1024;
    const std::int64_t of_chunk = divide_up(d.n, chunks() > 0 ? chunks() : 1);
    return least(of_chunk < 1 ? 1 : of_chunk, kFloats / (step() + pixels * kTileColumns) + 1);
  }
  std::int64_t step() const {  // from an image to the next, as the loops read them
    return padded() ? round_up(d.c * placement.height * placement.width, 16) : d.c * d.h * d.w;
  }
  std::int64_t offset_floats() const { return round_up(2 * group() * pixels, 16); }
  std::int64_t padded_floats() const { return padded() ? chunks() * group() * step() : 0; }
  std::int64_t thread_floats() const { return group() * pixels * least(kTileColumns, filters); }
};

// Adds one tile's products over all pixels to its sums (kRows, width).
template <int kSpan>
inline void multiply_taps(float* sums, bool add, const float* const* lines, std::int64_t rows,
                          std::int64_t width, const std::int64_t* offsets, const float* panel,
                          std::int64_t pixels) {
  static constexpr TileKernels<kTileVectors, kSpan, kSpan, Unit, Table, Linear, Tile> kKernels;
  kKernels(rows, width / kLanes)(Tile{sums, add ? Tile::Start::there : Tile::Start::zero}, lines,
                                 Unit{}, Table{offsets}, panel, Linear{width}, pixels);
}

// The sums of some pixels and one panel of filters: rows in the order (piece of s, c, r, s).
template <int kSpan>
inline void add_span(const Job& job, float* sums, bool add, const float* image, std::int64_t s,
                     std::int64_t width, const std::int64_t* offsets, const float* panel,
                     std::int64_t pixels) {
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
                         count * kSpan, width, offsets, panel, pixels);
  }
}

// Adds what a group of images gives to the panels [begin, end) of filters.
inline void add_images(const Job& job, float* sums, bool add, const float* images, const float* dy,
                       std::int64_t count, const std::int64_t* offsets, float* panel,
                       std::int64_t begin, std::int64_t end) {
  const Split spans(job.d.kw, kMaxSpan);
  const std::int64_t pixels = count * job.pixels, last = least(end * kTileColumns, job.d.oc);
  for (std::int64_t first = begin * kTileColumns; first < last; first += kTileColumns) {
    const std::int64_t width = least(kTileColumns, job.filters - first);
    float* panel_sums = sums + first * (job.taps + 1);
    for (std::int64_t i = 0; i < count; ++i) {
      packed::pack_panel(panel + i * job.pixels * width, width,
                         dy + (i * job.d.oc + first) * job.pixels, 1, job.pixels, job.d.oc - first,
                         job.pixels);
    }
    for (std::int64_t span = 0; span < spans.pieces; ++span) {
      const std::int64_t s = spans.begin(span);
      switch (spans.begin(span + 1) - s) {
        case 1:
          add_span<1>(job, panel_sums, add, images, s, width, offsets, panel, pixels);
          break;
        case 2:
          add_span<2>(job, panel_sums, add, images, s, width, offsets, panel, pixels);
          break;
        case 3:
          add_span<3>(job, panel_sums, add, images, s, width, offsets, panel, pixels);
          break;
        case 4:
          add_span<4>(job, panel_sums, add, images, s, width, offsets, panel, pixels);
          break;
        default:
          add_span<5>(job, panel_sums, add, images, s, width, offsets, panel, pixels);
          break;
      }
    }
    float* bias_sums = panel_sums + job.taps * width;
    for (std::int64_t j = 0; j < width; j += kLanes) {
      FloatVector sum = {};
      for (std::int64_t p = 0; p < pixels; ++p) sum += simd::load(panel + p * width + j);
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
                                  job.padded_floats() + threads * job.thread_floats());
}

// All extents but n > 0.
inline void conv2d_backward_weights_implicit_gemm(float* dw, float* db, const float* dy,
                                                  const float* x, const ConvDims& d,
                                                  GradientMode mode, float* scratch) {
  using namespace weight_gradient;
  const Job job(d);
  const std::int64_t chunks = job.chunks(), group = job.group(), image = d.c * d.h * d.w;
  const bool add = mode == GradientMode::accumulate;
  std::int64_t* offsets = reinterpret_cast<std::int64_t*>(scratch);
  float* sums = scratch + job.offset_floats();
  float* padded = sums + chunks * job.chunk_floats();
  float* threads = padded + job.padded_floats();
  for (std::int64_t pixel = 0; pixel < group * job.pixels; ++pixel) {
    const std::int64_t i = pixel / job.pixels, p = pixel / d.ow() % d.oh(), q = pixel % d.ow();
    offsets[pixel] = i * job.step() + p * d.stride_h * job.placement.width + q * d.stride_w;
  }
  const Split images(d.n, chunks > 0 ? divide_up(d.n, chunks) : 1), ranges = job.ranges();
  const std::int64_t longest = images.least_size + (images.larger > 0 ? 1 : 0);
#pragma omp parallel if (2 * d.n * job.pixels * d.oc * job.taps > 1000000)
  {
    float* panel = threads + correlation::thread_index() * job.thread_floats();
    for (std::int64_t round = 0; round < longest; round += group) {  // images of each chunk
#pragma omp for collapse(2) schedule(static)
      for (std::int64_t chunk = 0; chunk < images.pieces; ++chunk) {
        for (std::int64_t k = 0; k < group; ++k) {
          const std::int64_t i = images.begin(chunk) + round + k;
          if (!job.padded() || i >= images.begin(chunk + 1)) continue;
          float* to = padded + (chunk * group + k) * job.step();
          for (std::int64_t e = 0; round == 0 && e < job.step(); ++e) to[e] = 0.0f;  // the frame
          correlation::place(to, x + i * image, d.c, d.h, d.w, job.placement);
        }
      }
#pragma omp for collapse(2) schedule(static)  // a thread keeps its sums in its cache
      for (std::int64_t chunk = 0; chunk < images.pieces; ++chunk) {
        for (std::int64_t range = 0; range < ranges.pieces; ++range) {
          const std::int64_t first = images.begin(chunk) + round;
          const std::int64_t count = least(group, images.begin(chunk + 1) - first);
          if (count <= 0) continue;
          const float* from =
              job.padded() ? padded + chunk * group * job.step() : x + first * image;
          add_images(job, sums + chunk * job.chunk_floats(), round > 0, from,
                     dy + first * d.oc * job.pixels, count, offsets, panel, ranges.begin(range),
                     ranges.begin(range + 1));
        }
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

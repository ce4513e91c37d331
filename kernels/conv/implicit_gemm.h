// SPDX-License-Identifier: MIT
// Convolution on the CPU as a GEMM whose image operand is never copied to a matrix: forward, and
// backward data as the forward convolution of dy with the flipped filters.
//
// With k = (c, r, s), the element A(pixel, k) of the im2col matrix lies at pixel + offset[k] of the
// padded image, so the register tile of gemm/register_tile.h reads it there. Two ways to lay the
// product over the tile, chosen by the arithmetic that their vectors waste:
//
//   pixels in rows    pixels of an output row are broadcast, filters lie along vectors
//   filters in rows   filter weights are broadcast, pixels of an output row lie along vectors
//                     (stride 1 only; better for few filters)
//
// Threads share the packed filters and own whole images. Scratch: offsets, packed filters, then one
// padded image per thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/conv/conv.h"
#include "kernels/gemm/packed.h"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace implicit_gemm {

using packed::kTurnedRows;
using packed::least;
using packed::round_up;

inline int thread_index() {
#ifdef _OPENMP
  return omp_get_thread_num();
#else
  return 0;
#endif
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

  std::int64_t depth() const { return channels * kh * kw; }
  std::int64_t image() const { return channels * placement.height * placement.width; }
  bool filters_in_rows() const {
    if (stride_h != 1 || stride_w != 1) return false;
    const std::int64_t tile_stores = 2;  // masked row stores against transposed tiles, in k steps
    return filters * round_up(ow, kLanes) * (depth() + tile_stores) <
           round_up(filters, kLanes) * ow * (depth() + 4 * tile_stores);
  }
  // Vectors of pixels read past the end of the last row, so they need slack behind the image.
  bool copied() const {
    return filters_in_rows() || placement.height != source_h || placement.width != source_w;
  }
  std::int64_t offset_floats() const { return round_up(2 * depth(), 16); }
  std::int64_t filter_floats() const { return round_up(filters, kTileColumns) * depth(); }
  std::int64_t thread_floats() const { return copied() ? round_up(image() + kTileColumns, 16) : 0; }
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
inline void pack_filters(float* packed_w, const float* w, const Correlation& job,
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
    const Split split(job.filters, kTileRows);
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

struct Output {
  float* y;  // (filters, oh, ow) of one image
  const float* bias;
  bool add;
  Epilogue epilogue;
};

inline void finish(const Output& output, float* out, FloatVector value, float bias,
                   std::int64_t lanes) {
  value += bias;
  if (output.add) value += simd::load_first(out, lanes);
  if (output.epilogue == Epilogue::relu) value = simd::relu(value);
  if (lanes == kLanes) {
    simd::store(out, value);
  } else {
    simd::store_first(out, value, lanes);
  }
}

// Tiles are computed in strips, one block of k at a time, so that the block of packed filters stays
// in the first-level cache.
inline void pixels_in_rows(const Correlation& job, const Output& output, const float* image,
                           const float* packed_w, const std::int64_t* offsets) {
  static constexpr auto kAdjacent = TileKernels<kTileRows, 0, 1, Unit, Table, Linear>::make();
  static constexpr auto kStrided = TileKernels<kTileRows, 3, 1, Stride, Table, Linear>::make();
  constexpr std::int64_t kStrip = 8, kBlockDepth = 192;
  alignas(64) float tiles[kStrip][kTurnedRows * kTileColumns];
  alignas(64) float turned[kTurnedRows * kTileColumns];
  const std::int64_t depth = job.depth(), plane = job.oh * job.ow;
  const Split columns(job.ow, kTileRows), blocks(depth, kBlockDepth);
  const Split strips(job.oh * columns.pieces, kStrip);
  struct Tile {
    std::int64_t p, q, pixels;
  };
  const auto tile_at = [&](std::int64_t index) {
    const std::int64_t piece = index % columns.pieces, q = columns.begin(piece);
    return Tile{index / columns.pieces, q, columns.begin(piece + 1) - q};
  };
  for (std::int64_t first = 0; first < job.filters; first += kTileColumns) {
    const std::int64_t filters = least(kTileColumns, job.filters - first);
    const std::int64_t width = round_up(filters, kLanes);
    for (std::int64_t strip = 0; strip < strips.pieces; ++strip) {
      const std::int64_t begin = strips.begin(strip), count = strips.begin(strip + 1) - begin;
      for (std::int64_t block = 0; block < blocks.pieces; ++block) {
        const std::int64_t k = blocks.begin(block), k_count = blocks.begin(block + 1) - k;
        const float* panel = packed_w + first * depth + k * width;
        const Table a_step{offsets + k};
        for (std::int64_t t = 0; t < count; ++t) {
          const auto [p, q, pixels] = tile_at(begin + t);
          const float* a = image + p * job.stride_h * job.placement.width + q * job.stride_w;
          if (job.stride_w == 1) {
            kAdjacent(pixels, width / kLanes)(tiles[t], block > 0, &a, Unit{}, a_step, panel,
                                              Linear{width}, k_count);
          } else {
            const float* spans[(kTileRows + 2) / 3];
            for (std::int64_t s = 0; 3 * s < pixels; ++s) spans[s] = a + 3 * s * job.stride_w;
            kStrided(pixels, width / kLanes)(tiles[t], block > 0, spans, job.stride_w, a_step,
                                             panel, Linear{width}, k_count);
          }
        }
      }
      for (std::int64_t t = 0; t < count; ++t) {
        const auto [p, q, pixels] = tile_at(begin + t);
        packed::transpose_tile(turned, tiles[t], width, filters);
        for (std::int64_t f = 0; f < filters; ++f) {
          float* out = output.y + (first + f) * plane + p * job.ow + q;
          const float bias = output.bias != nullptr ? output.bias[first + f] : 0.0f;
          for (std::int64_t j = 0; j < pixels; j += kLanes) {
            finish(output, out + j, simd::load(turned + f * kTurnedRows + j), bias,
                   least(kLanes, pixels - j));
          }
        }
      }
    }
  }
}

// Rows no wider than a vector go in pairs, so that the tile still has two vectors.
inline void filters_in_rows(const Correlation& job, const Output& output, const float* image,
                            const float* packed_w, const std::int64_t* offsets) {
  static constexpr auto kKernels = TileKernels<kTileRows, 0, 1, Unit, Linear, Table>::make();
  alignas(64) float tile[kTileRows * kTileColumns];
  const std::int64_t depth = job.depth(), plane = job.oh * job.ow;
  const std::int64_t line = job.placement.width;
  const bool paired = job.ow <= kLanes;
  const Split split(job.filters, kTileRows);
  for (std::int64_t p = 0; p < job.oh; p += paired ? 2 : 1) {
    for (std::int64_t q = 0; q < job.ow; q += kTileColumns) {
      const std::int64_t vectors =
          least(kTileVectors, paired ? job.oh - p : (job.ow - q + kLanes - 1) / kLanes);
      const Table b_step{offsets, paired ? line : kLanes};
      for (std::int64_t piece = 0; piece < split.pieces; ++piece) {
        const std::int64_t first = split.begin(piece), rows = split.begin(piece + 1) - first;
        const float* a = packed_w + first * depth;
        kKernels(rows, vectors)(tile, false, &a, Unit{}, Linear{rows}, image + p * line + q, b_step,
                                depth);
        for (std::int64_t f = 0; f < rows; ++f) {
          float* out = output.y + (first + f) * plane + p * job.ow + q;
          const float bias = output.bias != nullptr ? output.bias[first + f] : 0.0f;
          for (std::int64_t v = 0; v < vectors; ++v) {
            const std::int64_t used = paired ? job.ow : least(kLanes, job.ow - q - v * kLanes);
            finish(output, out + v * (paired ? job.ow : kLanes),
                   simd::load(tile + (f * vectors + v) * kLanes), bias, used);
          }
        }
      }
    }
  }
}

inline std::size_t scratch_floats(const Correlation& job, int threads) {
  return static_cast<std::size_t>(job.offset_floats() + job.filter_floats() +
                                  threads * job.thread_floats());
}

inline void correlate(float* y, const float* x, const float* w, const float* bias, bool add,
                      Epilogue epilogue, const Correlation& job, float* scratch) {
  std::int64_t* offsets = reinterpret_cast<std::int64_t*>(scratch);
  float* packed_w = scratch + job.offset_floats();
  float* images = packed_w + job.filter_floats();
  const std::int64_t taps = job.kh * job.kw, depth = job.depth();
  for (std::int64_t k = 0; k < depth; ++k) {
    const std::int64_t c = k / taps, r = k / job.kw % job.kh, s = k % job.kw;
    offsets[k] = (c * job.placement.height + r) * job.placement.width + s;
  }
  const bool copied = job.copied();
  const bool turned = job.filters_in_rows();
#pragma omp parallel if (2 * job.n * job.filters * job.oh * job.ow * depth > 1000000)
  {
    float* own = images + thread_index() * job.thread_floats();
    for (std::int64_t e = 0; e < job.thread_floats(); ++e) own[e] = 0.0f;
#pragma omp for schedule(static)
    for (std::int64_t c = 0; c < job.channels; ++c) pack_filters(packed_w, w, job, c);
#pragma omp for schedule(static)
    for (std::int64_t i = 0; i < job.n; ++i) {
      const float* image = x + i * job.channels * job.source_h * job.source_w;
      if (copied) {
        place(own, image, job.channels, job.source_h, job.source_w, job.placement);
        image = own;
      }
      const Output output{y + i * job.filters * job.oh * job.ow, bias, add, epilogue};
      if (turned) {
        filters_in_rows(job, output, image, packed_w, offsets);
      } else {
        pixels_in_rows(job, output, image, packed_w, offsets);
      }
    }
  }
}

}  // namespace implicit_gemm

inline std::size_t conv2d_forward_scratch(const ConvDims& d, int threads) {
  return implicit_gemm::scratch_floats(implicit_gemm::forward_of(d), threads);
}

inline std::size_t conv2d_backward_data_scratch(const ConvDims& d, int threads) {
  return implicit_gemm::scratch_floats(implicit_gemm::backward_of(d), threads);
}

// All extents > 0.
inline void conv2d_forward_implicit_gemm(float* y, const float* x, const float* w,
                                         const float* bias, const ConvDims& d, Epilogue epilogue,
                                         float* scratch) {
  implicit_gemm::correlate(y, x, w, bias, false, epilogue, implicit_gemm::forward_of(d), scratch);
}

inline void conv2d_backward_data_implicit_gemm(float* dx, const float* dy, const float* w,
                                               const ConvDims& d, GradientMode mode,
                                               float* scratch) {
  implicit_gemm::correlate(dx, dy, w, nullptr, mode == GradientMode::accumulate, Epilogue::none,
                           implicit_gemm::backward_of(d), scratch);
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

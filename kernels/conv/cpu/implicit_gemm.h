// SPDX-License-Identifier: MIT
// Convolution on the CPU as a GEMM whose image operand is never copied to a matrix: the loops of
// correlation.h, forward and backward data.
//
// Threads share the packed filters and own whole images. Of small images a thread takes a group at
// a time, so that filters that come from the shared cache serve all of it. Scratch: offsets, packed
// filters, then per thread a group of padded images and the sums of a strip of pixels.
#pragma once

#include "engine/extent.h"
#include "kernels/conv/cpu/maps.h"
#include "kernels/conv/cpu/row_tile.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace correlation {

// Output rows [begin, end) to the maps, whose first row is row `begin`.
inline void filters_in_rows(const Correlation& job, const Maps& maps, const float* image,
                            const float* packed_w, const std::int64_t* offsets, std::int64_t begin,
                            std::int64_t end) {
  static constexpr TileKernels<3, 0, 1, Unit, Linear, Table, Place> kKernels;
  const std::int64_t depth = job.depth(), width = job.placement.width;
  const bool paired = job.paired();
  const int most = job.row_vectors();
  const Split filters(job.filters, tile_rows(most));
  const Split pieces(paired ? 1 : divide_up(job.ow, kLanes), most);
  const Place::Start start = maps.add               ? Place::Start::vectors
                             : maps.bias != nullptr ? Place::Start::row_bias
                                                    : Place::Start::zero;
  Place place{.row = maps.plane,
              .vector = paired ? maps.line : kLanes,
              .relu = maps.relu,
              .start_kind = start,
              .bias_row = maps.plane};
  const Table pixels{offsets, paired ? width : kLanes};
  for (std::int64_t p = begin; p < end; p += paired ? most : 1) {
    for (std::int64_t piece = 0; piece < pieces.pieces; ++piece) {
      const std::int64_t q = pieces.begin(piece) * kLanes;
      const std::int64_t vectors =
          paired ? least(most, end - p) : pieces.begin(piece + 1) - pieces.begin(piece);
      const std::int64_t last = least(kLanes, job.ow - q - (paired ? 0 : vectors - 1) * kLanes);
      place.last_lanes = maps.roomy ? kLanes : last;
      place.lanes = paired ? place.last_lanes : kLanes;
      for (std::int64_t group = 0; group < filters.pieces; ++group) {
        const std::int64_t first = filters.begin(group), rows = filters.begin(group + 1) - first;
        const float* a = packed_w + first * depth;
        place.at = maps.at + first * maps.plane + (p - begin) * maps.line + q;
        place.bias = maps.add ? place.at : maps.bias + first;
        kKernels(rows, vectors)(place, &a, Unit{}, Linear{rows}, image + p * width + q, pixels,
                                depth);
      }
    }
  }
}

// Output rows [begin, end) by one panel: sums (pixel, width), which start from the bias. Rows are
// counted over all images, which lie `step` floats apart. The depth is cut so that a block of
// packed filters stays in the first-level cache.
inline void pixels_in_rows(const Correlation& job, float* sums, const float* images,
                           std::int64_t step, const FilterPanel& panel, const std::int64_t* offsets,
                           std::int64_t begin, std::int64_t end) {
  static constexpr TileKernels<kTileVectors, 0, 1, Unit, Table, Linear, Tile> kAdjacent;
  static constexpr TileKernels<kTileVectors, 4, 4, Unit, Table, Linear, Tile> kFours;
  static constexpr TileKernels<kTileVectors, 3, 1, Stride, Table, Linear, Tile> kStrided;
  const std::int64_t width = panel.width;
  const std::int64_t vectors = width / kLanes, most = tile_rows(static_cast<int>(vectors));
  // Rows of 4, 8 or 16 pixels do not fill tiles. Where tiles are made of fours, they go on in the
  // next row, or in the next image.
  const bool fours = job.stride_w == 1 && job.ow % 4 == 0 && job.ow % most != 0 && most % 4 == 0;
  const bool by_rows = job.stride_w == 1 && !fours && row_kernel(job.kw, 1, vectors) != nullptr;
  const std::int64_t unit = by_rows ? job.kw : 1;  // of the depth, which is not cut
  const Split columns(job.ow, most), blocks(job.depth() / unit, packed::kPanelK / unit);
  const Split tiles(fours ? (end - begin) * job.ow / 4 : 0, fours ? most / 4 : 1);
  const auto pixel = [&](std::int64_t p, std::int64_t q) {
    const std::int64_t row = p % job.oh * job.stride_h * job.placement.width;
    return images + p / job.oh * step + row + q * job.stride_w;
  };
  for (std::int64_t block = 0; block < blocks.pieces; ++block) {
    const std::int64_t k = unit * blocks.begin(block), depth = unit * blocks.begin(block + 1) - k;
    const Table taps{offsets + k};
    const float* const weights = panel.packed_w + k * width;
    const auto tile_at = [&](std::int64_t pixel_of_sums) {
      return Tile{sums + pixel_of_sums * width,
                  block > 0 ? Tile::Start::there : Tile::Start::vectors, panel.bias};
    };
    for (std::int64_t piece = 0; piece < tiles.pieces; ++piece) {
      const std::int64_t first = tiles.begin(piece), count = tiles.begin(piece + 1) - first;
      const float* spans[tile_rows(1) / 4];
      for (std::int64_t s = 0; s < count; ++s) {
        const std::int64_t at = 4 * (first + s);
        spans[s] = pixel(begin + at / job.ow, at % job.ow);
      }
      kFours(4 * count, vectors)(tile_at(4 * first), spans, Unit{}, taps, weights, Linear{width},
                                 depth);
    }
    if (fours) continue;
    for (std::int64_t p = begin; p < end; ++p) {
      for (std::int64_t piece = 0; piece < columns.pieces; ++piece) {
        const std::int64_t q = columns.begin(piece), pixels = columns.begin(piece + 1) - q;
        const float* a = pixel(p, q);
        const Tile tile = tile_at((p - begin) * job.ow + q);
        if (by_rows) {
          row_kernel(unit, pixels, vectors)(tile, a, taps.offsets, weights, depth / unit);
        } else if (job.stride_w == 1) {
          kAdjacent(pixels, vectors)(tile, &a, Unit{}, taps, weights, Linear{width}, depth);
        } else {
          const float* spans[divide_up(tile_rows(1), 3)];
          for (std::int64_t s = 0; 3 * s < pixels; ++s) spans[s] = a + 3 * s * job.stride_w;
          kStrided(pixels, vectors)(tile, spans, job.stride_w, taps, weights, Linear{width}, depth);
        }
      }
    }
  }
}

// Rows of a strip of sums, and floats that hold it: a panel of filters for each pixel. Whole
// vectors of pixels are read, from any image's first one on.
inline std::int64_t strip_rows(std::int64_t columns, std::int64_t rows) {
  constexpr std::int64_t kPixels = 64;
  return columns >= kPixels ? 1 : least(rows, kPixels / columns);
}
inline std::int64_t strip_floats(std::int64_t columns, std::int64_t rows) {
  return (strip_rows(columns, rows) * columns + kLanes) * kTileColumns;
}

// All output rows of `count` images, which lie `step` floats apart; `maps` are those of the first.
inline void correlate_images(const Correlation& job, const Maps& maps, const float* images,
                             std::int64_t step, std::int64_t count, const float* packed_w,
                             const std::int64_t* offsets, float* sums) {
  if (job.filters_in_rows()) {  // a group is one image
    return filters_in_rows(job, maps, images, packed_w, offsets, 0, job.oh);
  }
  const std::int64_t rows = count * job.oh;
  const Split strips(rows, strip_rows(job.ow, rows));
  for (std::int64_t first = 0; first < job.filters; first += kTileColumns) {
    const FilterPanel panel(job, packed_w, maps.bias, first);
    const std::int64_t width = panel.width;
    for (std::int64_t strip = 0; strip < strips.pieces; ++strip) {
      const std::int64_t begin = strips.begin(strip), end = strips.begin(strip + 1);
      pixels_in_rows(job, sums, images, step, panel, offsets, begin, end);
      for (std::int64_t p = begin, next; p < end; p = next) {  // the rows of one image
        const std::int64_t image = p / job.oh;
        next = least(end, (image + 1) * job.oh);
        put_pixels(maps, sums + (p - begin) * job.ow * width, panel, (next - p) * job.ow,
                   (image * job.filters + first) * maps.plane + p % job.oh * maps.line);
      }
    }
  }
}

// What a correlation keeps in its scratch.
struct Scratch {
  std::int64_t* offsets;
  float *packed_w, *threads;

  Scratch(const Correlation& job, float* memory)
      : offsets(reinterpret_cast<std::int64_t*>(memory)),
        packed_w(memory + job.offset_floats()),
        threads(packed_w + job.filter_floats()) {}
};

inline std::int64_t sums_floats(const Correlation& job) {
  return job.filters_in_rows() ? 0 : strip_floats(job.ow, job.group() * job.oh);
}
inline std::int64_t group_floats(const Correlation& job) {
  return job.group() * job.thread_floats() + sums_floats(job);
}
inline std::size_t scratch_floats(const Correlation& job, int threads) {
  return static_cast<std::size_t>(job.offset_floats() + job.filter_floats() +
                                  threads * group_floats(job));
}

inline void correlate(const Maps& all, const float* x, const float* w, const Correlation& job,
                      float* memory) {
  const Scratch scratch(job, memory);
  job.tabulate_offsets(scratch.offsets);
#pragma omp parallel if (job.worth_threads())
  {
    float* own = scratch.threads + thread_index() * group_floats(job);
    float* sums = own + job.group() * job.thread_floats();
    for (std::int64_t e = 0; e < job.group() * job.thread_floats(); ++e) own[e] = 0.0f;
    pack_filters(scratch.packed_w, w, job);
    const Split groups(job.n, least(job.group(), divide_up(job.n, thread_count())));
    const std::int64_t step = job.copied() ? job.thread_floats() : job.image();
#pragma omp for schedule(static)
    for (std::int64_t group = 0; group < groups.pieces; ++group) {
      const std::int64_t first = groups.begin(group), count = groups.begin(group + 1) - first;
      Maps maps = all;
      maps.at += first * job.filters * maps.plane;
      const float* images = job.image_of(own, x, first);
      for (std::int64_t i = 1; i < count; ++i)
        job.image_of(own + i * job.thread_floats(), x, first + i);
      correlate_images(job, maps, images, step, count, scratch.packed_w, scratch.offsets, sums);
    }
  }
}

}  // namespace correlation

inline std::size_t conv2d_forward_scratch(const ConvDims& d, int threads) {
  return correlation::scratch_floats(correlation::forward_of(d), threads);
}

inline std::size_t conv2d_backward_data_scratch(const ConvDims& d, int threads) {
  return correlation::scratch_floats(correlation::backward_of(d), threads);
}

// All extents > 0.
inline void conv2d_forward_implicit_gemm(float* y, const float* x, const float* w,
                                         const float* bias, const ConvDims& d, Epilogue epilogue,
                                         float* scratch) {
  const correlation::Correlation job = correlation::forward_of(d);
  correlation::correlate(correlation::maps_of(job, y, bias, false, epilogue), x, w, job, scratch);
}

inline void conv2d_backward_data_implicit_gemm(float* dx, const float* dy, const float* w,
                                               const ConvDims& d, GradientMode mode,
                                               float* scratch) {
  const correlation::Correlation job = correlation::backward_of(d);
  const bool add = mode == GradientMode::accumulate;
  correlation::correlate(correlation::maps_of(job, dx, nullptr, add, Epilogue::none), dy, w, job,
                         scratch);
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

// SPDX-License-Identifier: MIT
// A 3 x 3 correlation of stride 1 on the CPU by Winograd's algorithm F(2 x 2, 3 x 3): forward and
// backward data. Tiles of 2 x 2 outputs take 16 products for each channel instead of 36.
//
//   V = B^T d B
//   U = G g G^T
//   M = sum over channels of U * V
//   y = A^T M A
//
// Each tile of 4 x 4 inputs d gives a V, by additions alone, and each filter g of 3 x 3 gives a U.
// Both have 16 points. U * V is taken point by point, so M is 16 products of matrices. The outputs
// y are 2 x 2. A, B and G are the constant matrices of the source: A. Lavin and S. Gray, "Fast
// algorithms for convolutional neural networks", CVPR 2016.
//
// Sums have a ninth of the terms, which outweighs the rounding of the transformations. On random
// values errors are 0.6 to 0.8 times those of a sum of all products, with 16 to 512 channels.
//
// Threads share the transformed filters and own blocks of rows of tiles, of one image or of
// several. An output depends on its tile alone, and so neither on the threads nor on the batch.
// Scratch: transformed filters, then per thread V, M, the outputs of a block, and five lines.
#pragma once

#include "engine/extent.h"
#include "kernels/conv/cpu/maps.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace winograd {

using correlation::Correlation;
using packed::least;

constexpr std::int64_t kPoints = 16;  // of a transformed tile

struct Job {
  const Correlation& of;
  std::int64_t tiles_h, tiles_w;

  explicit Job(const Correlation& job)
      : of(job), tiles_h(divide_up(job.oh, 2)), tiles_w(divide_up(job.ow, 2)) {}

  std::int64_t rows() const { return of.n * tiles_h; }  // of tiles, over all images
  // Rows of a block: V stays in the second-level cache beside a panel of filters.
  std::int64_t block_rows() const {
    constexpr std::int64_t kFloats = 128 * 1024;
    const std::int64_t rows = kFloats / (kPoints * of.channels * tiles_w);
    return rows < 1 ? 1 : least(rows, this->rows());
  }
  std::int64_t block_tiles() const { return block_rows() * tiles_w; }
  std::int64_t filter_floats() const {
    return kPoints * of.channels * round_up(of.filters, kTileColumns);
  }
  std::int64_t line_floats() const {  // whole vectors of tiles are read
    return round_up(2 * round_up(tiles_w, kLanes) + 2, 16);
  }
  std::int64_t lines_floats() const { return 4 * line_floats() + round_up(of.source_w, 16); }
  std::int64_t input_floats() const { return round_up(kPoints * of.channels * block_tiles(), 16); }
  std::int64_t product_floats() const { return kPoints * block_tiles() * kTileColumns; }
  std::int64_t sums_floats() const { return (4 * block_tiles() + kLanes) * kTileColumns; }
  std::int64_t thread_floats() const {
    return input_floats() + product_floats() + sums_floats() + lines_floats();
  }
};

// Do fewer products outweigh the transformations? They do where the other algorithm has at least
// `tenths` / 10 times as many. The batch has no say, so that an image has the same bits in any.
inline bool fits(const Correlation& job, std::int64_t tenths = 14) {
  const bool is_3x3 = job.kh == 3 && job.kw == 3 && job.stride_h == 1 && job.stride_w == 1 &&
                      job.placement.step_h == 1 && job.placement.step_w == 1;
  constexpr std::int64_t kLeastChannels = 16;
  if (!is_3x3 || job.channels < kLeastChannels || job.filters < kLeastChannels) return false;
  const Job tiles(job);
  return 10 * 9 * job.oh * job.ow >= tenths * kPoints * tiles.tiles_h * tiles.tiles_w;
}

// U of one channel for the filters of one panel: (point, channel, filter) of the panel.
inline void transform_filters(float* panel, const float* w, const Correlation& job,
                              std::int64_t first, std::int64_t channel) {
  const std::int64_t filters = least(kTileColumns, job.filters - first);
  const std::int64_t width = round_up(filters, kLanes);
  alignas(64) float taps[9][kTileColumns] = {};
  for (std::int64_t f = 0; f < filters; ++f) {
    const float* from = w + job.w_origin + (first + f) * job.w_filter + channel * job.w_channel;
    for (std::int64_t t = 0; t < 9; ++t) taps[t][f] = from[t / 3 * job.w_r + t % 3 * job.w_s];
  }
  for (std::int64_t f = 0; f < width; f += kLanes) {
    FloatVector rows[4][3];  // G g
    for (int s = 0; s < 3; ++s) {
      const FloatVector g0 = simd::load(taps[s] + f), g1 = simd::load(taps[3 + s] + f),
                        g2 = simd::load(taps[6 + s] + f);
      rows[0][s] = g0;
      rows[1][s] = 0.5f * (g0 + g1 + g2);
      rows[2][s] = 0.5f * (g0 - g1 + g2);
      rows[3][s] = g2;
    }
    for (int r = 0; r < 4; ++r) {
      const FloatVector outer = rows[r][0] + rows[r][2];
      const FloatVector u[4] = {rows[r][0], 0.5f * (outer + rows[r][1]),
                                0.5f * (outer - rows[r][1]), rows[r][2]};
      for (int s = 0; s < 4; ++s) {
        simd::store(panel + ((4 * r + s) * job.channels + channel) * width + f, u[s]);
      }
    }
  }
}

// V of one row of tiles and one channel, at v + point * step. `lines` are four, zero outside of the
// columns that come from the image, and a line of zeros for rows outside.
inline void transform_inputs(float* v, std::int64_t step, const float* plane, const Job& tiles,
                             std::int64_t row, float* lines) {
  const Correlation& job = tiles.of;
  const std::int64_t shift = job.placement.shift_w, length = tiles.line_floats();
  const std::int64_t begin = shift < 0 ? -shift : 0;
  const std::int64_t end = least(job.source_w, 2 * tiles.tiles_w + 2 - shift);
  const float* const none = lines + 4 * length;
  const auto source = [&](std::int64_t r) {
    const std::int64_t i = 2 * row + r - job.placement.shift_h;
    return i >= 0 && i < job.source_h ? plane + i * job.source_w : none;
  };
  const float *r0 = source(0), *r1 = source(1), *r2 = source(2), *r3 = source(3);
  for (std::int64_t j = begin; j < end; j += kLanes) {  // B^T d
    const std::int64_t lanes = least(kLanes, end - j);
    const FloatVector d0 = simd::load_first(r0 + j, lanes), d1 = simd::load_first(r1 + j, lanes),
                      d2 = simd::load_first(r2 + j, lanes), d3 = simd::load_first(r3 + j, lanes);
    float* const to = lines + shift + j;
    simd::store_first(to, d0 - d2, lanes);
    simd::store_first(to + length, d1 + d2, lanes);
    simd::store_first(to + 2 * length, d2 - d1, lanes);
    simd::store_first(to + 3 * length, d1 - d3, lanes);
  }
  for (int r = 0; r < 4; ++r) {
    for (std::int64_t x = 0; x < tiles.tiles_w; x += kLanes) {
      const float* d = lines + r * length + 2 * x;
      const FloatVector low = simd::load(d), high = simd::load(d + kLanes);
      const FloatVector next_low = simd::load(d + 2), next_high = simd::load(d + 2 + kLanes);
      const FloatVector d0 = simd::every_second<0>(low, high),
                        d1 = simd::every_second<1>(low, high),
                        d2 = simd::every_second<0>(next_low, next_high),
                        d3 = simd::every_second<1>(next_low, next_high);
      const std::int64_t lanes = least(kLanes, tiles.tiles_w - x);
      float* const to = v + 4 * r * step + x;
      simd::store_first(to, d0 - d2, lanes);
      simd::store_first(to + step, d1 + d2, lanes);
      simd::store_first(to + 2 * step, d2 - d1, lanes);
      simd::store_first(to + 3 * step, d1 - d3, lanes);
    }
  }
}

// A^T M A of one tile and one vector of filters: y[row][column] of the tile.
inline void transform_outputs(FloatVector (&y)[2][2], const float* m, std::int64_t step) {
  FloatVector rows[2][4];
  for (int s = 0; s < 4; ++s) {
    const FloatVector m0 = simd::load(m + s * step), m1 = simd::load(m + (4 + s) * step),
                      m2 = simd::load(m + (8 + s) * step), m3 = simd::load(m + (12 + s) * step);
    rows[0][s] = m0 + m1 + m2;
    rows[1][s] = m1 - m2 - m3;
  }
  for (int r = 0; r < 2; ++r) {
    y[r][0] = rows[r][0] + rows[r][1] + rows[r][2];
    y[r][1] = rows[r][1] - rows[r][2] - rows[r][3];
  }
}

// The products of a block of `count` tiles with one panel: M (point, tile, width).
inline void multiply(float* m, const float* v, const float* u, std::int64_t count,
                     std::int64_t channels, std::int64_t width) {
  static constexpr TileKernels<kTileVectors, 0, 1, Unit, Linear, Linear, Tile> kKernels;
  const std::int64_t vectors = width / kLanes;
  const Split pieces(count, tile_rows(static_cast<int>(vectors)));
  for (std::int64_t point = 0; point < kPoints; ++point) {
    for (std::int64_t piece = 0; piece < pieces.pieces; ++piece) {
      const std::int64_t first = pieces.begin(piece), rows = pieces.begin(piece + 1) - first;
      const float* a = v + point * channels * count + first;
      kKernels(rows, vectors)(Tile{m + (point * count + first) * width, Tile::Start::zero}, &a,
                              Unit{}, Linear{count}, u + point * channels * width, Linear{width},
                              channels);
    }
  }
}

// The rows of tiles [begin, end), which are of one image, of a block whose first is `block`:
// from M to the maps. `sums` holds (pixel, width).
inline void put_tiles(const Job& tiles, const correlation::Maps& maps, const float* m,
                      std::int64_t count, const correlation::FilterPanel& panel,
                      std::int64_t first_filter, std::int64_t block, std::int64_t begin,
                      std::int64_t end, float* sums) {
  const Correlation& job = tiles.of;
  const std::int64_t width = panel.width, image = begin / tiles.tiles_h;
  const std::int64_t top = 2 * (begin % tiles.tiles_h);
  const std::int64_t lines = least(2 * (end - begin), job.oh - top);
  for (std::int64_t row = begin; row < end; ++row) {
    for (std::int64_t x = 0; x < tiles.tiles_w; ++x) {
      const float* tile = m + ((row - block) * tiles.tiles_w + x) * width;
      for (std::int64_t f = 0; f < width; f += kLanes) {
        FloatVector y[2][2];
        transform_outputs(y, tile + f, count * width);
        const FloatVector bias = simd::load(panel.bias + f);
        for (std::int64_t r = 0; r < 2; ++r) {
          for (std::int64_t s = 0; s < 2; ++s) {
            const std::int64_t p = 2 * (row - begin) + r, q = 2 * x + s;
            if (p < lines && q < job.ow) {
              simd::store(sums + (p * job.ow + q) * width + f, y[r][s] + bias);
            }
          }
        }
      }
    }
  }
  correlation::put_pixels(maps, sums, panel, lines * job.ow,
                          (image * job.filters + first_filter) * maps.plane + top * maps.line);
}

inline std::size_t scratch_floats(const Correlation& job, int threads) {
  const Job tiles(job);
  return static_cast<std::size_t>(tiles.filter_floats() + threads * tiles.thread_floats());
}

inline void correlate(const correlation::Maps& maps, const float* x, const float* w,
                      const Correlation& job, float* memory) {
  const Job tiles(job);
  float* const filters = memory;
  const std::int64_t image = job.channels * job.source_h * job.source_w;
#pragma omp parallel if (job.worth_threads())
  {
    float* v =
        filters + tiles.filter_floats() + correlation::thread_index() * tiles.thread_floats();
    float *m = v + tiles.input_floats(), *sums = m + tiles.product_floats();
    float* lines = sums + tiles.sums_floats();
    for (std::int64_t e = 0; e < tiles.lines_floats(); ++e) lines[e] = 0.0f;
#pragma omp for collapse(2) schedule(static)
    for (std::int64_t first = 0; first < job.filters; first += kTileColumns) {
      for (std::int64_t c = 0; c < job.channels; ++c) {
        transform_filters(filters + kPoints * job.channels * first, w, job, first, c);
      }
    }
    const Split blocks(tiles.rows(), least(tiles.block_rows(),
                                           divide_up(tiles.rows(), correlation::thread_count())));
#pragma omp for schedule(static)
    for (std::int64_t block = 0; block < blocks.pieces; ++block) {
      const std::int64_t begin = blocks.begin(block), end = blocks.begin(block + 1);
      const std::int64_t count = (end - begin) * tiles.tiles_w;
      for (std::int64_t c = 0; c < job.channels; ++c) {
        for (std::int64_t row = begin; row < end; ++row) {
          const float* plane = x + row / tiles.tiles_h * image + c * job.source_h * job.source_w;
          transform_inputs(v + c * count + (row - begin) * tiles.tiles_w, job.channels * count,
                           plane, tiles, row % tiles.tiles_h, lines);
        }
      }
      for (std::int64_t first = 0; first < job.filters; first += kTileColumns) {
        const correlation::FilterPanel panel(job, filters, maps.bias, first);
        multiply(m, v, filters + kPoints * job.channels * first, count, job.channels, panel.width);
        for (std::int64_t row = begin, next; row < end; row = next) {  // the rows of one image
          next = least(end, (row / tiles.tiles_h + 1) * tiles.tiles_h);
          put_tiles(tiles, maps, m, count, panel, first, begin, row, next, sums);
        }
      }
    }
  }
}

}  // namespace winograd

// The extents of both must fit (conv2d_fits_winograd).
inline void conv2d_forward_winograd(float* y, const float* x, const float* w, const float* bias,
                                    const ConvDims& d, Epilogue epilogue, float* scratch) {
  const correlation::Correlation job = correlation::forward_of(d);
  winograd::correlate(correlation::maps_of(job, y, bias, false, epilogue), x, w, job, scratch);
}

inline void conv2d_backward_data_winograd(float* dx, const float* dy, const float* w,
                                          const ConvDims& d, GradientMode mode, float* scratch) {
  const correlation::Correlation job = correlation::backward_of(d);
  const bool add = mode == GradientMode::accumulate;
  winograd::correlate(correlation::maps_of(job, dx, nullptr, add, Epilogue::none), dy, w, job,
                      scratch);
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

// SPDX-License-Identifier: MIT
// The weight gradient of a 3 x 3 convolution of stride 1 on the CPU by Winograd's algorithm, the
// transposed one of winograd.h: 16 products for a tile of 2 x 2 outputs, a channel and a filter.
//
//   V = B^T d B
//   D = A dy A^T
//   dU = sum over tiles of D * V
//   dw = G^T dU G
//
// Each tile of 4 x 4 inputs d gives a V, and each tile of 2 x 2 gradients dy gives a D. At each of
// the 16 points dU is a product of two matrices, (filter, tile) and (tile, channel).
//
// Tiles go in rounds. In each the threads first transform rows of tiles, and then own some points
// and channels of dU, whose sums run over the tiles in order: the bits do not depend on threads.
// Scratch: V and D of a round, dU, then per thread a panel of V and the lines of a transformation.
#pragma once

#include "kernels/activation/cpu/templates.h"
#include "kernels/conv/cpu/winograd.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace winograd {

struct WeightJob {
  Job tiles;

  explicit WeightJob(const Correlation& forward) : tiles(forward) {}

  std::int64_t channels() const { return tiles.of.channels; }
  std::int64_t filters() const { return tiles.of.filters; }
  // Rows of tiles in a round. dU goes through the caches once in a round, so V and D are as large
  // as it is, but at least so large as to fill the second-level cache.
  std::int64_t round_rows() const {
    constexpr std::int64_t kLeast = std::int64_t{1} << 18, kMost = std::int64_t{1} << 22;
    const std::int64_t row = kPoints * (channels() + filters()) * tiles.tiles_w;
    const std::int64_t of_sums = kPoints * channels() * filters();
    const std::int64_t floats = of_sums < kLeast ? kLeast : least(of_sums, kMost);
    return least(tiles.rows(), floats / row + 1);
  }
  std::int64_t round_tiles() const { return round_rows() * tiles.tiles_w; }
  std::int64_t input_floats() const { return round_up(kPoints * channels() * round_tiles(), 16); }
  std::int64_t gradient_floats() const { return round_up(kPoints * filters() * round_tiles(), 16); }
  std::int64_t sums_floats() const {
    return kPoints * filters() * round_up(channels(), kTileColumns);
  }
  std::int64_t shared_floats() const { return input_floats() + gradient_floats() + sums_floats(); }
  std::int64_t thread_floats() const {
    return round_tiles() * kTileColumns + tiles.lines_floats() + 4 * tiles.line_floats();
  }
};

// D of one row of tiles and one filter, at v + point * step. `lines` are four, zero behind the
// output's columns.
inline void transform_gradients(float* v, std::int64_t step, const float* plane, const Job& tiles,
                                std::int64_t row, float* lines) {
  const std::int64_t length = tiles.line_floats(), ow = tiles.of.ow;
  const float *top = plane + 2 * row * ow, *bottom = top + ow;
  const bool has_bottom = 2 * row + 1 < tiles.of.oh;
  for (std::int64_t j = 0; j < ow; j += kLanes) {  // A dy
    const std::int64_t lanes = least(kLanes, ow - j);
    const FloatVector y0 = simd::load_first(top + j, lanes);
    const FloatVector y1 = has_bottom ? simd::load_first(bottom + j, lanes) : FloatVector{};
    simd::store_first(lines + j, y0, lanes);
    simd::store_first(lines + length + j, y0 + y1, lanes);
    simd::store_first(lines + 2 * length + j, y0 - y1, lanes);
    simd::store_first(lines + 3 * length + j, -y1, lanes);
  }
  for (int r = 0; r < 4; ++r) {
    for (std::int64_t x = 0; x < tiles.tiles_w; x += kLanes) {
      const float* from = lines + r * length + 2 * x;
      const FloatVector low = simd::load(from), high = simd::load(from + kLanes);
      const FloatVector y0 = simd::every_second<0>(low, high),
                        y1 = simd::every_second<1>(low, high);
      const std::int64_t lanes = least(kLanes, tiles.tiles_w - x);
      float* const to = v + 4 * r * step + x;
      simd::store_first(to, y0, lanes);
      simd::store_first(to + step, y0 + y1, lanes);
      simd::store_first(to + 2 * step, y0 - y1, lanes);
      simd::store_first(to + 3 * step, -y1, lanes);
    }
  }
}

// Adds the tiles of a round to one point of dU, for one panel of channels (filter, width).
inline void multiply_round(float* sums, bool add, const float* gradients, const float* panel,
                           std::int64_t filters, std::int64_t width, std::int64_t count) {
  static constexpr TileKernels<kTileVectors, 3, 1, Stride, Linear, Linear, Tile> kKernels;
  const std::int64_t vectors = width / kLanes;
  const Split pieces(filters, tile_rows(static_cast<int>(vectors)));
  for (std::int64_t piece = 0; piece < pieces.pieces; ++piece) {
    const std::int64_t first = pieces.begin(piece), rows = pieces.begin(piece + 1) - first;
    const float* spans[divide_up(tile_rows(1), 3)];
    for (std::int64_t s = 0; 3 * s < rows; ++s) spans[s] = gradients + (first + 3 * s) * count;
    kKernels(rows, vectors)(
        Tile{sums + first * width, add ? Tile::Start::there : Tile::Start::zero}, spans, count,
        Linear{1}, panel, Linear{width}, count);
  }
}

// dw of one filter and one vector of channels, from dU (point, step apart).
inline void transform_weights(float* dw, const float* u, std::int64_t step, std::int64_t channels,
                              bool add) {
  FloatVector rows[3][4];  // G^T dU
  for (int s = 0; s < 4; ++s) {
    const FloatVector u0 = simd::load(u + s * step), u1 = simd::load(u + (4 + s) * step),
                      u2 = simd::load(u + (8 + s) * step), u3 = simd::load(u + (12 + s) * step);
    rows[0][s] = u0 + 0.5f * (u1 + u2);
    rows[1][s] = 0.5f * (u1 - u2);
    rows[2][s] = 0.5f * (u1 + u2) + u3;
  }
  for (int r = 0; r < 3; ++r) {
    const FloatVector inner = 0.5f * (rows[r][1] + rows[r][2]);
    const FloatVector taps[3] = {rows[r][0] + inner, 0.5f * (rows[r][1] - rows[r][2]),
                                 inner + rows[r][3]};
    for (int s = 0; s < 3; ++s) {
      for (std::int64_t c = 0; c < channels; ++c) {
        float& out = dw[9 * c + 3 * r + s];
        out = add ? out + taps[s][c] : taps[s][c];
      }
    }
  }
}

inline void weight_gradient(float* dw, float* db, const float* dy, const float* x,
                            const Correlation& forward, GradientMode mode, float* memory) {
  const bool add = mode == GradientMode::accumulate;
  const WeightJob job(forward);
  const Job& tiles = job.tiles;
  const std::int64_t channels = job.channels(), filters = job.filters();
  const std::int64_t image = channels * forward.source_h * forward.source_w;
  const std::int64_t plane = forward.source_h * forward.source_w, out = forward.oh * forward.ow;
  float* const inputs = memory;
  float* const gradients = inputs + job.input_floats();
  float* const sums = gradients + job.gradient_floats();
#pragma omp parallel if (forward.worth_threads())
  {
    float* panel = memory + job.shared_floats() + correlation::thread_index() * job.thread_floats();
    float* const lines = panel + job.round_tiles() * kTileColumns;
    float* const gradient_lines = lines + tiles.lines_floats();
    for (float* zero = lines; zero < panel + job.thread_floats(); ++zero) *zero = 0.0f;
    const Split rounds(tiles.rows(), job.round_rows());
    for (std::int64_t round = 0; round < rounds.pieces; ++round) {
      const std::int64_t begin = rounds.begin(round), rows = rounds.begin(round + 1) - begin;
      const std::int64_t count = rows * tiles.tiles_w;
#pragma omp for collapse(2) schedule(static)
      for (std::int64_t c = 0; c < channels + filters; ++c) {
        for (std::int64_t r = 0; r < rows; ++r) {
          const std::int64_t i = (begin + r) / tiles.tiles_h, row = (begin + r) % tiles.tiles_h;
          const std::int64_t at = r * tiles.tiles_w;
          if (c < channels) {
            transform_inputs(inputs + c * count + at, channels * count, x + i * image + c * plane,
                             tiles, row, lines);
          } else {
            const std::int64_t f = c - channels;
            transform_gradients(gradients + f * count + at, filters * count,
                                dy + (i * filters + f) * out, tiles, row, gradient_lines);
          }
        }
      }
#pragma omp for collapse(2) schedule(static)
      for (std::int64_t point = 0; point < kPoints; ++point) {
        for (std::int64_t first = 0; first < channels; first += kTileColumns) {
          const std::int64_t columns = least(kTileColumns, channels - first);
          const std::int64_t width = round_up(columns, kLanes);
          packed::pack_panel(panel, width, inputs + (point * channels + first) * count, 1, count,
                             columns, count);
          multiply_round(sums + (first * kPoints + point * width) * filters, round > 0,
                         gradients + point * filters * count, panel, filters, width, count);
        }
      }
    }
#pragma omp for schedule(static)
    for (std::int64_t f = 0; f < filters; ++f) {
      for (std::int64_t first = 0; first < channels; first += kTileColumns) {
        const std::int64_t columns = least(kTileColumns, channels - first);
        const std::int64_t width = round_up(columns, kLanes);
        for (std::int64_t c = 0; c < columns; c += kLanes) {
          transform_weights(dw + (f * channels + first + c) * 9,
                            sums + first * kPoints * filters + f * width + c, filters * width,
                            least(kLanes, columns - c), add);
        }
      }
    }
  }
  if (db != nullptr) bias_backward(db, dy, forward.n, filters, out, mode);
}

}  // namespace winograd

// The extents must fit (conv2d_fits_winograd).
inline void conv2d_backward_weights_winograd(float* dw, float* db, const float* dy, const float* x,
                                             const ConvDims& d, GradientMode mode, float* scratch) {
  winograd::weight_gradient(dw, db, dy, x, correlation::forward_of(d), mode, scratch);
}

inline bool conv2d_fits_winograd(ConvPass pass, const ConvDims& d) {
  if (pass == ConvPass::forward) return winograd::fits(correlation::forward_of(d));
  if (pass == ConvPass::backward_data) return winograd::fits(correlation::backward_of(d));
  constexpr std::int64_t kTenths = 20;  // it transforms both operands of each product
  return winograd::fits(correlation::forward_of(d), kTenths) && d.n > 0;
}

inline std::size_t conv2d_winograd_scratch(ConvPass pass, const ConvDims& d, int threads) {
  if (pass == ConvPass::backward_data) {
    return winograd::scratch_floats(correlation::backward_of(d), threads);
  }
  const correlation::Correlation forward = correlation::forward_of(d);
  if (pass == ConvPass::forward) return winograd::scratch_floats(forward, threads);
  const winograd::WeightJob job(forward);
  return static_cast<std::size_t>(job.shared_floats() + threads * job.thread_floats());
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

// SPDX-License-Identifier: MIT
// A register tile of both rows that windows of 2 x 2 take a maximum of: sums of up to six filters
// at two vectors of pixels in each row. They are pooled where they are, so the map is never stored.
// Each sum takes its taps in the order of multiply_tile(), and has the same bits.
//
// Included by instances.cpp only: see kernels/isa.h.
#pragma once

#include <iterator>

#include "kernels/conv/cpu/correlation.h"
#include "kernels/conv_relu_pool/conv_relu_pool.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace relu_pool {

using correlation::Correlation;

// y[at] and, where kArgmax, argmax[at] from the maximum of a window and its index in it.
template <bool kArgmax>
void put(float* y, std::uint8_t* argmax, std::int64_t at, FloatVector best, IndexVector index,
         std::int64_t lanes) {
  simd::store_first(y + at, simd::relu(best), lanes);
  if constexpr (kArgmax) {
    const IndexVector kept = best > 0.0f ? index : IndexVector{} + int{kReluPoolCut};
    simd::store_bytes_first(argmax + at, kept, lanes);
  }
}

// The same of windows of 2 x 2, from the even and odd columns of their rows.
template <bool kArgmax>
void put_windows(float* y, std::uint8_t* argmax, std::int64_t at, const simd::Pair& upper,
                 const simd::Pair& lower, std::int64_t lanes) {
  simd::Maximum best(upper.even, 0);
  best.take(upper.odd, 1);
  best.take(lower.even, 2);
  best.take(lower.odd, 3);
  put<kArgmax>(y, argmax, at, best.value, best.index, lanes);
}

// What a tile of pooled rows reads and where it goes.
struct PooledRows {
  float* y;
  std::uint8_t* argmax;
  std::int64_t at, plane, columns;  // of windows; from one filter to the next there are `plane`
  const float* pixels;              // the upper row; the lower one is behind `width` floats
  std::int64_t width;
  const std::int64_t* offsets;  // of the taps
  std::int64_t depth;
};

// kFilters filters, whose weights of tap p are at w[p * step], with bias[filter] or, where that is
// null, 0.
template <bool kArgmax, int kFilters>
void pool_tile(const PooledRows& rows, const float* w, std::int64_t step, const float* bias) {
  FloatVector sum[kFilters][4];
#pragma GCC unroll 6
  for (int f = 0; f < kFilters; ++f) {
    const FloatVector start = bias != nullptr ? simd::broadcast(bias[f]) : FloatVector{};
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sum[f][v] = start;
  }
#pragma GCC unroll 1
  for (std::int64_t p = 0; p < rows.depth; ++p) {
    const float* from = rows.pixels + rows.offsets[p];
    const FloatVector pixels[4] = {simd::load(from), simd::load(from + kLanes),
                                   simd::load(from + rows.width),
                                   simd::load(from + rows.width + kLanes)};
#pragma GCC unroll 6
    for (int f = 0; f < kFilters; ++f) {
      const FloatVector weight = simd::broadcast(w[p * step + f]);
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sum[f][v] = simd::multiply_add(weight, pixels[v], sum[f][v]);
    }
  }
#pragma GCC unroll 6
  for (int f = 0; f < kFilters; ++f) {
    put_windows<kArgmax>(rows.y, rows.argmax, rows.at + f * rows.plane,
                         simd::deinterleave(sum[f][0], sum[f][1]),
                         simd::deinterleave(sum[f][2], sum[f][3]), rows.columns);
  }
}

// Does a map have rows of two vectors, and are there registers for the tile? AVX-512 has them.
inline bool fits_pooled_tile(const Correlation& map) {
  return tile_rows(1) == 12 && kLanes == 16 && map.filters_in_rows() && !map.paired() &&
         map.ow <= 2 * kLanes;
}

// One row of windows of all filters.
template <bool kArgmax>
void pool_tiles(const Correlation& map, PooledRows rows, const float* packed_w, const float* bias) {
  using Kernel = void (*)(const PooledRows&, const float*, std::int64_t, const float*);
  static constexpr Kernel kOf[] = {pool_tile<kArgmax, 1>, pool_tile<kArgmax, 2>,
                                   pool_tile<kArgmax, 3>, pool_tile<kArgmax, 4>,
                                   pool_tile<kArgmax, 5>, pool_tile<kArgmax, 6>};
  constexpr std::int64_t kMost = std::size(kOf);
  const std::int64_t first_row = rows.at;
  const Split groups(map.filters, tile_rows(map.row_vectors()));  // as pack_filters() lays them
  for (std::int64_t group = 0; group < groups.pieces; ++group) {
    const std::int64_t begin = groups.begin(group), end = groups.begin(group + 1);
    for (std::int64_t filter = begin; filter < end; filter += kMost) {
      rows.at = first_row + filter * rows.plane;
      kOf[packed::least(kMost, end - filter) - 1](
          rows, packed_w + begin * rows.depth + (filter - begin), end - begin,
          bias != nullptr ? bias + filter : nullptr);
    }
  }
}

}  // namespace relu_pool

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

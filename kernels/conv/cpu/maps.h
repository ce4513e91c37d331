// SPDX-License-Identifier: MIT
// Where the outputs of a convolution on the CPU go, and how sums of one panel of filters, which lie
// side by side for each pixel, get there.
//
// Included by kernels/conv/cpu/instances.cpp only: see kernels/isa.h.
#pragma once

#include "kernels/conv/cpu/correlation.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace correlation {

// Maps (filters, rows, columns) that rows of pixels go to.
struct Maps {
  float* at;
  std::int64_t plane, line;  // from one filter to the next, from one row to the next
  const float* bias;         // or null
  bool add, relu;
  bool roomy;  // lines have room for whole vectors
};

inline Maps maps_of(const Correlation& job, float* at, const float* bias, bool add,
                    Epilogue epilogue) {
  return {at, job.oh * job.ow, job.ow, bias, add, epilogue == Epilogue::relu, false};
}

// Filters [first, first + filters), one panel of packed_w (depth, width).
struct FilterPanel {
  std::int64_t filters, width;
  const float* packed_w;
  alignas(64) float bias[kTileColumns];  // zeros behind the last, or if there is none

  // `all_bias` may be null.
  FilterPanel(const Correlation& job, const float* all_packed_w, const float* all_bias,
              std::int64_t first)
      : filters(least(kTileColumns, job.filters - first)),
        width(round_up(filters, kLanes)),
        packed_w(all_packed_w + first * job.depth()) {
    for (std::int64_t f = 0; f < kTileColumns; ++f) {
      bias[f] = all_bias != nullptr && f < filters ? all_bias[first + f] : 0.0f;
    }
  }
};

inline void put_rows(const Maps& maps, float* out, const FloatVector (&rows)[kLanes],
                     std::int64_t count, std::int64_t lanes) {
  for (std::int64_t f = 0; f < count; ++f, out += maps.plane) {
    FloatVector value = rows[f];
    if (maps.add) value += simd::load_first(out, lanes);
    if (maps.relu) value = simd::relu(value);
    simd::store_first(out, value, lanes);
  }
}

// The sums (pixel, panel.width) of adjacent pixels, to the maps from `offset` on.
inline void put_pixels(const Maps& maps, const float* sums, const FilterPanel& panel,
                       std::int64_t pixels, std::int64_t offset) {
  packed::for_each_square(
      panel.filters, pixels,
      [&](std::int64_t f, std::int64_t along, std::int64_t e, std::int64_t lanes) {
        FloatVector square[kLanes];
        packed::load_transposed(square, sums + e * panel.width + f, panel.width);
        put_rows(maps, maps.at + offset + f * maps.plane + e, square, along, lanes);
      });
}

}  // namespace correlation

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

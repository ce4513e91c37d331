// SPDX-License-Identifier: MIT
// The transpose on the CPU.
#pragma once

#include "engine/extent.h"
#include "kernels/cpu_math.h"
#include "kernels/transpose/cpu/table.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

// Row by row of y, as the formula says: the oracle of the others.
template <class T>
void transpose_naive(T* y, const T* x, const TransposeDims& dims) {
#pragma omp parallel for schedule(static) if (dims.elements() >= kParallelElements)
  for (std::int64_t j = 0; j < dims.cols; ++j) {
    for (std::int64_t i = 0; i < dims.rows; ++i) y[j * dims.rows + i] = x[i * dims.cols + j];
  }
}

// Tile by tile: a cache line of x that was loaded serves all rows of y that it belongs to before it
// is evicted. A tile of x and one of y are 32 lines of 128 bytes each.
template <class T>
void transpose_tiled(T* y, const T* x, const TransposeDims& dims) {
  constexpr std::int64_t kTile = 32;
  const std::int64_t across = divide_up(dims.cols, kTile);
  const std::int64_t tiles = divide_up(dims.rows, kTile) * across;
#pragma omp parallel for schedule(static) if (dims.elements() >= kParallelElements)
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    const std::int64_t i0 = tile / across * kTile, j0 = tile % across * kTile;
    const std::int64_t i1 = dims.rows - i0 < kTile ? dims.rows : i0 + kTile;
    const std::int64_t j1 = dims.cols - j0 < kTile ? dims.cols : j0 + kTile;
    for (std::int64_t j = j0; j < j1; ++j) {
      for (std::int64_t i = i0; i < i1; ++i) y[j * dims.rows + i] = x[i * dims.cols + j];
    }
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

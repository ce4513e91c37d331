// SPDX-License-Identifier: MIT
// Tiles of pooling with windows of stride 2: where they lie, loads of the rows that they need, and
// the choice of their width. See vectorized.cu.
#pragma once

#include <cstdint>

#include "engine/launch.h"
#include "kernels/device/fast_divide.cuh"
#include "kernels/pool/pool.h"

namespace weft::kernels::cuda {

constexpr int kPoolThreads = 256;

// Windows of kWindow x kWindow, of which a tile has kWindows in a row; kAligned: their cells can be
// loaded and stored as one vector.
template <int kWindow, int kPadding, int kWindows, bool kAligned>
struct PoolTile {
  static constexpr int kSize = kWindow, kPad = kPadding, kOutputs = kWindows;
  static constexpr bool kVector = kAligned;
  static constexpr int kColumns = 2 * kOutputs;             // of x that are the tile's own
  static constexpr int kSpan = kSize + 2 * (kOutputs - 1);  // columns that the windows cover
  // Rows and columns of windows that reach into the tile from before and from behind it.
  static constexpr int kBefore = (kSize - kPad - 1) / 2, kAfter = (kPad + 1) / 2;
  // With kBefore a row has an odd number of windows, so every other row is not aligned.
  static constexpr bool kPairs = kVector && kOutputs == 2 && kBefore == 0;
  static constexpr int kInFlight = kSize == 2 ? 2 : 1;  // tiles of a thread
};

struct PoolPlace {
  int plane, row, column;  // the latter in tiles
};

struct PoolShape {
  int h, w, oh, ow;
  int inputs, outputs;                   // of a plane
  device::FastDivide by_column, by_row;  // tiles of a row, rows of tiles of a plane
  int tiles;

  __device__ __forceinline__ PoolPlace place(int tile) const {
    PoolPlace at;
    at.plane = by_row.divide(by_column.divide(tile, at.column), at.row);
    return at;
  }
};

// The offset of an element in planes of `size` elements.
__device__ __forceinline__ std::int64_t pool_offset(int plane, int size, int element) {
  return static_cast<std::int64_t>(plane) * size + element;
}

template <class T, int kLanes>
struct alignas(sizeof(T) * kLanes) PoolVector {
  T lane[kLanes];
};

// Loads kCount columns of one row. The first one lies at `from` + offset and is column `first` of
// `columns`. A column that does not exist is `outside`. The kLanes columns from kPart on are loaded
// as one vector; all of them exist if the row does.
template <int kPart, int kLanes, class T, int kCount>
__device__ __forceinline__ void load_pool_row(T (&to)[kCount], const T* __restrict__ from,
                                              std::int64_t offset, bool there, int first,
                                              int columns, T outside) {
#pragma unroll
  for (int j = 0; j < kCount; ++j) to[j] = outside;
  if constexpr (kLanes > 0) {
    if (there) {
      const auto vector = *reinterpret_cast<const PoolVector<T, kLanes>*>(from + (offset + kPart));
#pragma unroll
      for (int j = 0; j < kLanes; ++j) to[kPart + j] = vector.lane[j];
    }
  }
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    if (j >= kPart && j < kPart + kLanes) continue;
    if (there && static_cast<unsigned>(first + j) < static_cast<unsigned>(columns)) {
      to[j] = from[offset + j];
    }
  }
}

// For `rows` rows of `columns` tiles in each plane.
inline PoolShape pool_shape(const PoolDims& d, std::int64_t rows, std::int64_t columns) {
  return {narrow(d.h),
          narrow(d.w),
          narrow(d.oh()),
          narrow(d.ow()),
          narrow(d.h * d.w),
          narrow(d.oh() * d.ow()),
          device::FastDivide(columns),
          device::FastDivide(rows),
          narrow(d.n * d.c * rows * columns)};
}

template <class Tile>
Launch pool_launch(const PoolShape& s, const Stream& stream) {
  return {blocks_for(s.tiles, Tile::kInFlight * kPoolThreads), kPoolThreads, 0, stream};
}

// Calls run(PoolTile()) with the widest vectors that x and y, or their gradients, and argmax allow.
template <class Run>
void with_pool_tile(const PoolDims& d, const float* x, const float* y, const std::int32_t* argmax,
                    Run run) {
  const auto aligned = [](const void* to, std::uintptr_t bytes) {
    return reinterpret_cast<std::uintptr_t>(to) % bytes == 0;
  };
  const auto of = [&]<int kSize, int kPad>() {
    if (d.w % 4 == 0 && aligned(x, 16) && aligned(y, 8) && aligned(argmax, 8)) {
      return run(PoolTile<kSize, kPad, 2, true>());
    }
    if (d.w % 2 == 0 && aligned(x, 8)) return run(PoolTile<kSize, kPad, 1, true>());
    run(PoolTile<kSize, kPad, 1, false>());
  };
  if (d.kh == 2) return of.template operator()<2, 0>();
  if (d.pad_h == 0) return of.template operator()<3, 0>();
  of.template operator()<3, 1>();
}

}  // namespace weft::kernels::cuda

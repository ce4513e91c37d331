// SPDX-License-Identifier: MIT
// Where an element of planes of rows and columns lies.
#pragma once

#include <cstdint>

namespace weft::kernels::device {

// Plane, row and column of element `at` of planes of rows x columns. Index is 32 bits wide where it
// suffices; the extents of a plane fit in 31 bits.
template <class Index>
struct PlanePosition {
  Index plane;
  int row, column;

  __device__ __forceinline__ PlanePosition(Index at, int rows, int columns) {
    const Index size = static_cast<Index>(rows) * static_cast<Index>(columns);
    plane = at / size;
    const unsigned rest = static_cast<unsigned>(at - plane * size);
    row = static_cast<int>(rest / static_cast<unsigned>(columns));
    column = static_cast<int>(rest - static_cast<unsigned>(row) * static_cast<unsigned>(columns));
  }
};

}  // namespace weft::kernels::device

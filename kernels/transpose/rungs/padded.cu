// SPDX-License-Identifier: MIT
// Transpose, rung "padded": rows of the tile are 33 floats apart.
//
// Element (row, column) is in bank (33 row + column) % 32 = (row + column) % 32, so the 32 elements
// of a column are in 32 banks, as those of a row are. It costs 128 bytes of shared memory that hold
// nothing, and rows that no longer start on 16-byte boundaries. 256 threads, 4.125 KiB.
#include "kernels/transpose/parts/tile.cuh"

namespace weft::kernels::cuda {

namespace {

struct PaddedTile {
  static constexpr int kFloats = kTransposeTile * (kTransposeTile + 1);
  static __device__ __forceinline__ int at(int row, int column) {
    return row * (kTransposeTile + 1) + column;
  }
};

}  // namespace

void transpose_padded(float* y, const float* x, const TransposeDims& dims, const Stream& stream) {
  transpose_by_tiles<PaddedTile>(y, x, dims, stream);
}

}  // namespace weft::kernels::cuda

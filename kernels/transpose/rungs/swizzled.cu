// SPDX-License-Identifier: MIT
// Transpose, rung "swizzled": element (row, column) of the tile lies at column (row XOR column).
//
// For a fixed row, or a fixed column, XOR with it is a permutation of 0 to 31, so that the elements
// of a row and those of a column are in 32 banks each. No word is wasted: 256 threads, 4 KiB. The
// operands of tensor cores lie in shared memory in such a way, where padding would not do.
#include "kernels/transpose/parts/tile.cuh"

namespace weft::kernels::cuda {

namespace {

struct SwizzledTile {
  static constexpr int kFloats = kTransposeTile * kTransposeTile;
  static __device__ __forceinline__ int at(int row, int column) {
    return row * kTransposeTile + (row ^ column);
  }
};

}  // namespace

void transpose_swizzled(float* y, const float* x, const TransposeDims& dims, const Stream& stream) {
  transpose_by_tiles<SwizzledTile>(y, x, dims, stream);
}

}  // namespace weft::kernels::cuda

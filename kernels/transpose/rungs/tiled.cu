// SPDX-License-Identifier: MIT
// Transpose, rung "tiled": a tile of 32 x 32 elements is turned in shared memory.
//
// Shared memory has no sectors, so reading it down a column is free of that cost, and global memory
// is read and written along rows. But it has 32 banks, and the word w is in bank w % 32. With rows
// of 32 words all elements of a column are in one bank: the 32 lanes that read it are served one
// after the other. 256 threads and 4 KiB of shared memory.
#include "kernels/transpose/parts/tile.cuh"

namespace weft::kernels::cuda {

namespace {

struct DenseTile {
  static constexpr int kFloats = kTransposeTile * kTransposeTile;
  static __device__ __forceinline__ int at(int row, int column) {
    return row * kTransposeTile + column;
  }
};

}  // namespace

void transpose_tiled(float* y, const float* x, const TransposeDims& dims, const Stream& stream) {
  transpose_by_tiles<DenseTile>(y, x, dims, stream);
}

}  // namespace weft::kernels::cuda

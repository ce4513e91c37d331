// SPDX-License-Identifier: MIT
// GEMM, rung "tiled_16": tiles of 16 x 16 in shared memory, one element of C for each thread.
//
// Each element that a block loads from memory is used 16 times. 256 threads and 2 KiB of shared
// memory for each block; every multiply-add reads two floats from shared memory. A warp covers two
// rows of the tile, so it stores two pieces of 64 bytes. parts/square_tile.cuh has the kernel.
#include "kernels/gemm/parts/square_tile.cuh"

namespace weft::kernels::cuda {

void gemm_tiled_16(float* c, const float* a, const float* b, const float* bias,
                   const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  square_tile::gemm<16>(c, a, b, bias, dims, options, stream);
}

}  // namespace weft::kernels::cuda

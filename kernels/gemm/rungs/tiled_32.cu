// SPDX-License-Identifier: MIT
// GEMM, rung "tiled_32": tiles of 32 x 32 in shared memory, one element of C for each thread.
//
// Each element that a block loads from memory is used 32 times, which halves the loads of
// "tiled_16". A block has 1024 threads, the most that there may be, and 8 KiB of shared memory, and
// a barrier now waits for 32 warps. The rung after this, "tiled", computes the same tile with 256
// threads of 4 elements each. parts/square_tile.cuh has the kernel.
#include "kernels/gemm/parts/square_tile.cuh"

namespace weft::kernels::cuda {

void gemm_tiled_32(float* c, const float* a, const float* b, const float* bias,
                   const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  square_tile::gemm<32>(c, a, b, bias, dims, options, stream);
}

}  // namespace weft::kernels::cuda

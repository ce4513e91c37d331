// SPDX-License-Identifier: MIT
// A (64, 64) tile of sums to memory as bfloat16.
#pragma once

#include "kernels/gemm/hopper/wgmma_store.cuh"

namespace weft::kernels::fused_mlp {

// A thread of the four warps has pairs at (row, 8 j + 2 member) and eight rows below.
__device__ __forceinline__ void store_tile(Bfloat16* to, std::int64_t pitch,
                                           const float (&sum)[32]) {
  const int thread = static_cast<int>(threadIdx.x), member = thread % 4;
  to += (thread / 32 * 16 + thread % 32 / 4) * pitch;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    cuda::store_row<64>(to + 8 * half * pitch, sum, half, member);
  }
}

}  // namespace weft::kernels::fused_mlp

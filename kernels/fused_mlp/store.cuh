// SPDX-License-Identifier: MIT
// A (64, 64) tile of sums to memory as bfloat16.
#pragma once

#include "kernels/bfloat16.h"
#include "kernels/device/quad.cuh"

namespace weft::kernels::fused_mlp {

// A thread of the four warps has pairs at (row, 8 j + 2 member) and eight rows below; the four
// lanes of a row trade pairs, so that each stores 16 bytes of neighbours.
__device__ __forceinline__ void store_tile(Bfloat16* to, std::int64_t pitch,
                                           const float (&sum)[32]) {
  const int thread = static_cast<int>(threadIdx.x), member = thread % 4;
  const int row = thread / 32 * 16 + thread % 32 / 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int j = 0; j < 8; j += 4) {
      std::uint32_t pair[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = 4 * (j + i) + 2 * half;
        pair[i] = device::bf16_pair(sum[at], sum[at + 1]);
      }
      device::transpose_quad(pair, member);  // the pairs of block j + member
      *reinterpret_cast<uint4*>(to + (row + 8 * half) * pitch + 8 * (j + member)) = {
          pair[0], pair[1], pair[2], pair[3]};
    }
  }
}

}  // namespace weft::kernels::fused_mlp

// SPDX-License-Identifier: MIT
// The four lanes that hold a row of a tensor-core fragment (lane / 4 is the row, lane % 4 the
// member).
#pragma once

#include <cstdint>

namespace weft::kernels::device {

// Rounds two floats to bf16, halves to even; `low` comes first in memory.
__device__ __forceinline__ std::uint32_t bf16_pair(float low, float high) {
  std::uint32_t pair = 0;
#if __CUDA_ARCH__ >= 800
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
#endif
  return pair;
}

// Transposes 4 x 4 words over the four lanes: word[i] of member m becomes word[m] of member i. All
// lanes of the warp call it.
__device__ __forceinline__ void transpose_quad(std::uint32_t (&word)[4], int member) {
  constexpr unsigned kWarp = 0xffffffff;
  const bool odd = member % 2 == 1, upper = member / 2 == 1;
  // 2 x 2 blocks inside, then the blocks themselves.
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    const std::uint32_t sent = odd ? word[i] : word[i + 1];
    const std::uint32_t got = __shfl_xor_sync(kWarp, sent, 1);
    word[i] = odd ? got : word[i];
    word[i + 1] = odd ? word[i + 1] : got;
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const std::uint32_t sent = upper ? word[i] : word[i + 2];
    const std::uint32_t got = __shfl_xor_sync(kWarp, sent, 2);
    word[i] = upper ? got : word[i];
    word[i + 2] = upper ? word[i + 2] : got;
  }
}

}  // namespace weft::kernels::device

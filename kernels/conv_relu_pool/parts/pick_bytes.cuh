// SPDX-License-Identifier: MIT
// Bytes of words, by a selector (PTX ISA, "prmt").
#pragma once

#include <cstdint>

namespace weft::kernels::cuda {

// Byte i of the result is what nibble i of the selector says: byte 0 to 3 of `low`, 4 to 7 of
// `high`; plus 8, the sign of that byte eight times.
__device__ __forceinline__ std::uint32_t pick_bytes(std::uint32_t low, std::uint32_t high,
                                                    std::uint32_t selector) {
  std::uint32_t picked = 0;
#ifdef __CUDA_ARCH__
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(picked) : "r"(low), "r"(high), "r"(selector));
#endif
  return picked;
}

}  // namespace weft::kernels::cuda

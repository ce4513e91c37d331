// SPDX-License-Identifier: MIT
// Tensor-core multiply-add of one warp on fp32 data: mma.sync.m16n8k8 with tf32 operands (PTX ISA,
// "Warp-level matrix instructions"). Needs sm_80; on older devices the kernel traps.
//
// With group = lane / 4 and member = lane % 4, a lane holds
//   a[0..3]  A (16, 8) at (group, member), (group + 8, member), (group, member + 4),
//            (group + 8, member + 4)
//   b[0..1]  B (8, 8) at (member, group), (member + 4, group)
//   d[0..3]  D (16, 8) at (group, 2 member), (group, 2 member + 1), and both again at group + 8
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

namespace weft::kernels::device {

// d += a b. All 32 lanes call it together.
__device__ __forceinline__ void mma_m16n8k8_tf32(float (&d)[4], const std::uint32_t (&a)[4],
                                                 const std::uint32_t (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  (void)d, (void)a, (void)b;
  __trap();
#endif
}

// Rounds to 10 mantissa bits, halves away from zero.
__device__ __forceinline__ std::uint32_t to_tf32(float value) {
#if __CUDA_ARCH__ >= 800
  std::uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
#else
  return __float_as_uint(value);
#endif
}

// Rounds to bf16, halves to even: a number that tf32 represents exactly.
__device__ __forceinline__ std::uint32_t to_bf16(float value) {
  return __float_as_uint(__bfloat162float(__float2bfloat16_rn(value)));
}

}  // namespace weft::kernels::device

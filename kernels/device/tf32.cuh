// SPDX-License-Identifier: MIT
// Numbers of tf32: tensor cores read the upper 19 bits of an fp32, with 11 significant bits.
#pragma once

#include <cstdint>

namespace weft::kernels::device {

// Rounds to 10 mantissa bits, halves away from zero.
__device__ __forceinline__ std::uint32_t to_tf32(float value) {
#if __CUDA_ARCH__ >= 800
  std::uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
#elif defined(WEFT_HOST_CUDA)
  return host_cuda::to_tf32(value);
#else
  return __float_as_uint(value);
#endif
}

// Rounds an operand of mma, which ignores the 13 lowest bits: half a unit of the place above those
// bits is added, in two instructions where cvt.rna takes four. NaN and infinity stay what they are.
__device__ __forceinline__ std::uint32_t tf32_operand_by_addition(std::uint32_t word) {
  const float power = __uint_as_float(word & 0xff800000u);  // sign and exponent: +-2^e
  return __float_as_uint(fmaf(power, 0x1p-11f, __uint_as_float(word)));
}

// The same in one instruction from sm_90 on, where halves are rounded to even.
__device__ __forceinline__ std::uint32_t tf32_operand(std::uint32_t word) {
#if __CUDA_ARCH__ >= 900
  std::uint32_t rounded;
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__uint_as_float(word)));
  return rounded;
#else
  return tf32_operand_by_addition(word);
#endif
}

// x = big + small with big = tf32(x). What is left has 12 significant bits, and a tensor core
// reads 11 of them. Infinity gives NaN, and so does what rounds to it.
__device__ __forceinline__ void split_tf32(std::uint32_t& big, std::uint32_t& small,
                                           std::uint32_t x) {
  big = tf32_operand(x) & 0xffffe000u;
  small = __float_as_uint(__uint_as_float(x) - __uint_as_float(big));
}

// The same with what a tensor core reads of x for `big`, in two instructions. What is left has 13
// significant bits, and it reads 11 of them: four times the error, always towards zero.
__device__ __forceinline__ void split_tf32_cut(std::uint32_t& big, std::uint32_t& small,
                                               std::uint32_t x) {
  big = x & 0xffffe000u;
  small = __float_as_uint(__uint_as_float(x) - __uint_as_float(big));
}

}  // namespace weft::kernels::device

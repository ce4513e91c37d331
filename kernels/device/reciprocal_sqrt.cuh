// SPDX-License-Identifier: MIT
// The hardware's estimate of 1 / sqrt(x), without the care that rsqrtf() takes of subnormals: one
// instruction in place of four.
#pragma once

namespace weft::kernels::device {

// For normal x > 0. Relative error at most 2^-22.9 (PTX ISA, rsqrt.approx); subnormals count as 0.
__device__ __forceinline__ float reciprocal_sqrt(float x) {
#if defined(__CUDA_ARCH__)
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return rsqrtf(x);
#endif
}

}  // namespace weft::kernels::device

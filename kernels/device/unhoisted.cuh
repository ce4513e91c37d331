// SPDX-License-Identifier: MIT
// Keeps a loop small in registers.
#pragma once

namespace weft::kernels::device {

// The same value, which the compiler takes for a new one each time: what follows from it is
// computed where it is used. A long loop whose body computes many indices from the thread's number
// would have them all before the loop otherwise, in registers that are not there.
__device__ __forceinline__ int unhoisted(int value) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+r"(value));
#endif
  return value;
}

}  // namespace weft::kernels::device

// SPDX-License-Identifier: MIT
// Values of unknown origin to the compiler, so that registers hold what a loop needs.
#pragma once

namespace weft::kernels::device {

// The same pointer: an access at an offset from it is then one addition. Otherwise the sum that led
// to the pointer may be computed again for each access.
template <class T>
__device__ __forceinline__ T* opaque(T* pointer) {
#ifdef __CUDA_ARCH__
  asm("" : "+l"(pointer));
#endif
  return pointer;
}

// The same value, a new one each time: what follows from it is computed where it is used. A long
// loop whose body computes many indices from the thread's number would have them all before the
// loop otherwise, in registers that are not there.
__device__ __forceinline__ int unhoisted(int value) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+r"(value));
#endif
  return value;
}

}  // namespace weft::kernels::device

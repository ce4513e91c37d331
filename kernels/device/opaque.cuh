// SPDX-License-Identifier: MIT
// Keeping a pointer in registers.
#pragma once

namespace weft::kernels::device {

// The same pointer, of unknown origin to the compiler: an access at an offset from it is then one
// addition. Otherwise the sum that led to the pointer may be computed again for each access.
template <class T>
__device__ __forceinline__ T* opaque(T* pointer) {
#ifdef __CUDA_ARCH__
  asm("" : "+l"(pointer));
#endif
  return pointer;
}

}  // namespace weft::kernels::device

// SPDX-License-Identifier: MIT
// The dynamic shared memory of a block.
#pragma once

namespace weft::kernels::device {

// As many bytes as the launch asked for, aligned to 16.
template <class T>
__device__ __forceinline__ T* dynamic_shared() {
#ifdef WEFT_HOST_CUDA
  return static_cast<T*>(host_cuda::dynamic_shared());
#else
  extern __shared__ __align__(16) unsigned char dynamic_shared_bytes[];
  return reinterpret_cast<T*>(dynamic_shared_bytes);
#endif
}

}  // namespace weft::kernels::device

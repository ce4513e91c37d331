// SPDX-License-Identifier: MIT
// The dynamic shared memory of a block.
#pragma once

#include <cstddef>

namespace weft::kernels::device {

// The most bytes that a block may ask for on the architecture that is being compiled for.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr std::size_t kMaxSharedBytes = 64 * 1024;
#elif defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 870)
constexpr std::size_t kMaxSharedBytes = 163 * 1024;
#elif defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 900 || __CUDA_ARCH__ >= 1200)
constexpr std::size_t kMaxSharedBytes = 99 * 1024;
#else
constexpr std::size_t kMaxSharedBytes = 227 * 1024;
#endif

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

// SPDX-License-Identifier: MIT
// Fragments of mma.sync from tiles in shared memory whose rows are 16-byte quads: ldmatrix, the
// bf16 product, and the quad-wise copy that fills such tiles (PTX ISA, "Warp-level matrix
// instructions" and "cp.async"). sm_80 and later; on older devices the kernels trap.
//
// A quad is 4 tf32 or 8 bf16 numbers, neighbours along k. A matrix of ldmatrix is 8 rows of one
// quad, so four of them make an A fragment of 16 rows and two quads: (16, 8) in tf32, (16, 16) in
// bf16. Everything but the product itself is the same for both.
#pragma once

#include <cstdint>

#include "kernels/device/mma.cuh"

namespace weft::kernels::device {

// Four 8 x 16-byte matrices: lane 8 i + r gives the address of row r of matrix i, and word i of
// lane 4 r + j comes from row r, word j of matrix i. All 32 lanes call it together.
__device__ __forceinline__ void load_matrices(std::uint32_t (&to)[4], std::uint32_t shared) {
#ifdef WEFT_HOST_CUDA
  put(to, host_cuda::load_matrices(__cvta_shared_to_generic(shared)));
#elif __CUDA_ARCH__ >= 800
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared)
               : "memory");
#else
  (void)to, (void)shared;
  __trap();
#endif
}

// The product of two quads along k: m16n8k8 in tf32, m16n8k16 in bf16.
template <bool kBf16>
__device__ __forceinline__ void mma_quads(float (&d)[4], const std::uint32_t (&a)[4],
                                          std::uint32_t b0, std::uint32_t b1) {
  const std::uint32_t b[2] = {b0, b1};
  if constexpr (kBf16) {
    mma_m16n8k16_bf16(d, a, b);
  } else {
    mma_m16n8k8_tf32(d, a, b);
  }
}

// The address of an object in shared memory, as load_matrices() and copy_quad() take it.
__device__ __forceinline__ std::uint32_t shared_address(const void* shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

// Starts the copy of 16 bytes. kCached keeps them in the L1 cache, for data that the block will
// copy again. Completion: async_commit() and async_wait() of async_copy.cuh.
template <bool kCached>
__device__ __forceinline__ void copy_quad(std::uint32_t shared, const void* global) {
#if __CUDA_ARCH__ >= 800
  if constexpr (kCached) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global) : "memory");
  } else {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global) : "memory");
  }
#elif defined(WEFT_HOST_CUDA)
  host_cuda::async_copy(__cvta_shared_to_generic(shared), global, 16, 16);
#else
  (void)shared, (void)global;
  __trap();
#endif
}

// The same, or 16 bytes of zeros when not `inside`; `global` is a valid address either way.
template <bool kCached>
__device__ __forceinline__ void copy_quad(std::uint32_t shared, const void* global, bool inside) {
#if __CUDA_ARCH__ >= 800
  const int bytes = inside ? 16 : 0;
  if constexpr (kCached) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global),
                 "r"(bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global),
                 "r"(bytes)
                 : "memory");
  }
#elif defined(WEFT_HOST_CUDA)
  host_cuda::async_copy(__cvta_shared_to_generic(shared), global, 16, inside ? 16 : 0);
#else
  (void)shared, (void)global, (void)inside;
  __trap();
#endif
}

}  // namespace weft::kernels::device

// SPDX-License-Identifier: MIT
// Tensor cores from one warp: mma.sync, and ldmatrix that feeds it (PTX ISA, "Warp-level matrix
// instructions"). Needs sm_80; on older devices the kernel traps. host_cuda/language/tensor_core.h
// tells what host-cuda does.
//
// With group = lane / 4 and member = lane % 4, a lane holds
//   tf32, m16n8k8
//     a[0..3]  A (16, 8) at (group, member), (group + 8, member), (group, member + 4),
//              (group + 8, member + 4)
//     b[0..1]  B (8, 8) at (member, group), (member + 4, group)
//   bf16, m16n8k8: pairs of neighbours along k, the lower one in the lower half
//     a[0..1]  A (16, 8) from (group, 2 member), (group + 8, 2 member)
//     b        B (8, 8) from (2 member, group)
//   bf16, m16n8k16: two of those along k
//     a[0..3]  A (16, 16) from (group, 2 member), (group + 8, 2 member), and both at k + 8
//     b[0..1]  B (16, 8) from (2 member, group), (2 member + 8, group)
//   d[0..3]    D (16, 8) at (group, 2 member), (group, 2 member + 1), and both again at group + 8
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "kernels/device/tf32.cuh"

namespace weft::kernels::device {

#ifdef WEFT_HOST_CUDA
template <class T, class Four>
__device__ __forceinline__ void put(T (&to)[4], const Four& from) {
  to[0] = from.x;
  to[1] = from.y;
  to[2] = from.z;
  to[3] = from.w;
}
#endif

// d += a b. All 32 lanes call it together.
__device__ __forceinline__ void mma_m16n8k8_tf32(float (&d)[4], const std::uint32_t (&a)[4],
                                                 const std::uint32_t (&b)[2]) {
#ifdef WEFT_HOST_CUDA
  put(d, host_cuda::mma_m16n8k8_tf32({d[0], d[1], d[2], d[3]}, {a[0], a[1], a[2], a[3]},
                                     {b[0], b[1]}));
#elif __CUDA_ARCH__ >= 800
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

__device__ __forceinline__ void mma_m16n8k8_bf16(float (&d)[4], const std::uint32_t (&a)[2],
                                                 std::uint32_t b) {
#ifdef WEFT_HOST_CUDA
  put(d, host_cuda::mma_m16n8k8_bf16({d[0], d[1], d[2], d[3]}, {a[0], a[1]}, b));
#elif __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(b));
#else
  (void)d, (void)a, (void)b;
  __trap();
#endif
}

__device__ __forceinline__ void mma_m16n8k16_bf16(float (&d)[4], const std::uint32_t (&a)[4],
                                                  const std::uint32_t (&b)[2]) {
#ifdef WEFT_HOST_CUDA
  put(d, host_cuda::mma_m16n8k16_bf16({d[0], d[1], d[2], d[3]}, {a[0], a[1], a[2], a[3]},
                                      {b[0], b[1]}));
#elif __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  (void)d, (void)a, (void)b;
  __trap();
#endif
}

// Four matrices of 8 rows of 16 bytes. Lane l names row l % 8 of matrix l / 8, in shared memory,
// and receives 32-bit word l % 4 of row l / 4 of matrix i in words[i].
__device__ __forceinline__ void load_matrices(std::uint32_t (&words)[4], const void* row) {
#ifdef WEFT_HOST_CUDA
  put(words, host_cuda::load_matrices(row));
#else
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
#endif
}

// The same for transposed matrices of 8 x 8 halves: a lane receives column l / 4 of rows
// 2 (l % 4) and 2 (l % 4) + 1.
__device__ __forceinline__ void load_matrices_transposed(std::uint32_t (&words)[4],
                                                         const void* row) {
#ifdef WEFT_HOST_CUDA
  put(words, host_cuda::load_matrices_transposed(row));
#else
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
#endif
}

#if __CUDA_ARCH__ >= 900

// mma_m16n8k16_bf16() with fp16.
__device__ __forceinline__ void mma_m16n8k16_fp16(float (&d)[4], const std::uint32_t (&a)[4],
                                                  const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Stores four matrices of 8 x 8 halves, whose words lie in lanes as load_matrices() leaves them.
// Lane l has the address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void store_matrices(void* row, const std::uint32_t (&words)[4]) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}

#endif

// Rounds to bf16, halves to even: a number that tf32 represents exactly.
__device__ __forceinline__ std::uint32_t to_bf16(float value) {
  return __float_as_uint(__bfloat162float(__float2bfloat16_rn(value)));
}

// The same for two, in one word.
__device__ __forceinline__ std::uint32_t to_bf16_pair(float low, float high) {
#if __CUDA_ARCH__ >= 800
  std::uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return to_bf16(low) >> 16 | to_bf16(high);
#endif
}

}  // namespace weft::kernels::device

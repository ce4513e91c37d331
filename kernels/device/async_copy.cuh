// SPDX-License-Identifier: MIT
// Copies from global to shared memory that bypass registers (cp.async, sm_80). On older devices the
// same calls copy at once, so kernels are written once.
//
// A thread's copies are visible to it after async_wait, and to its block after a barrier behind
// that. Groups complete in the order of their commits; a copy that no commit has followed is in no
// group, and no async_wait waits for it.
#pragma once

#include <cstdint>

namespace weft::kernels::device {

// Copies `floats` (0 to 4) floats and writes zeros behind them up to 16 bytes. Both addresses are
// aligned to 16 bytes; `global` is not read when floats == 0.
__device__ __forceinline__ void async_copy_float4(float* shared, const float* global, int floats) {
#if __CUDA_ARCH__ >= 800
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(global),
               "r"(4 * floats)
               : "memory");
#elif defined(WEFT_HOST_CUDA)
  host_cuda::async_copy(shared, global, 16, 4 * floats);
#else
  for (int i = 0; i < 4; ++i) shared[i] = i < floats ? global[i] : 0.0f;
#endif
}

// Copies 16 bytes, or writes zeros when not `inside`. Alignment as above.
__device__ __forceinline__ void async_copy_16(void* shared, const void* global, bool inside) {
#if __CUDA_ARCH__ >= 800
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile(
      "{\n"
      "  .reg .pred outside;\n"
      "  setp.eq.s32 outside, %2, 0;\n"
      "  cp.async.cg.shared.global [%0], [%1], 16, outside;\n"
      "}" ::"r"(address),
      "l"(global), "r"(static_cast<int>(inside))
      : "memory");
#elif defined(WEFT_HOST_CUDA)
  host_cuda::async_copy(shared, global, 16, inside ? 16 : 0);
#else
  *static_cast<uint4*>(shared) = inside ? *static_cast<const uint4*>(global) : uint4{};
#endif
}

// Copies kFloats (1, 2 or 4) floats, aligned to as many, or writes zeros when not `inside`; the L1
// cache keeps what was read.
template <int kFloats>
__device__ __forceinline__ void async_copy_floats(float* shared, const float* global, bool inside) {
  static_assert(kFloats == 1 || kFloats == 2 || kFloats == 4, "cp.async copies 4, 8 or 16 bytes");
#if __CUDA_ARCH__ >= 800
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(global),
               "n"(4 * kFloats), "r"(inside ? 4 * kFloats : 0)
               : "memory");
#elif defined(WEFT_HOST_CUDA)
  host_cuda::async_copy(shared, global, 4 * kFloats, inside ? 4 * kFloats : 0);
#else
  for (int i = 0; i < kFloats; ++i) shared[i] = inside ? global[i] : 0.0f;
#endif
}

// Copies one float, or writes 0 when not `inside`.
__device__ __forceinline__ void async_copy_float(float* shared, const float* global, bool inside) {
  async_copy_floats<1>(shared, global, inside);
}

// Closes the group of copies issued since the last commit; a group may be empty.
__device__ __forceinline__ void async_commit() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#elif defined(WEFT_HOST_CUDA)
  host_cuda::async_commit();
#endif
}

// Waits until at most kPending of this thread's newest groups are unfinished.
template <int kPending>
__device__ __forceinline__ void async_wait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#elif defined(WEFT_HOST_CUDA)
  host_cuda::async_wait(kPending);
#endif
}

}  // namespace weft::kernels::device

// SPDX-License-Identifier: MIT
// A large copy from global to shared memory that runs beside the block's work: the copy engine of
// sm_90 moves it (PTX ISA, "cp.async.bulk"), and a barrier in shared memory says when it is there.
// On older devices the threads copy at once, so kernels are written once.
#pragma once

#include <cstdint>

namespace weft::kernels::device {

// Each thread of the block has one, on the same word of shared memory; it serves one copy after the
// other.
class BulkCopy {
 public:
  // All threads call it; a block barrier comes before the first start().
  __device__ __forceinline__ explicit BulkCopy(std::uint64_t* barrier) : barrier_(barrier) {
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x != 0) return;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(barrier_)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
  }

  // All threads call it, behind a barrier that ends earlier uses of `shared`. bytes: at most
  // 2^20 - 16, a multiple of 16, as are the addresses. Blocks that copy the same bytes are two
  // to four times as fast when `global` begins a line of 128 bytes: kernels/networks/cnn/NOTES.md.
  __device__ __forceinline__ void start(void* shared, const void* global, int bytes) {
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x != 0) return;
    // What threads have read and written through the ordinary path comes before the copy.
    asm volatile("fence.proxy.async;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(barrier_)),
                 "r"(bytes)
                 : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1], %2, [%3];" ::"r"(address(shared)),
        "l"(global), "r"(bytes), "r"(address(barrier_))
        : "memory");
#else
    const int stride = 16 * static_cast<int>(blockDim.x);
    for (int i = 16 * static_cast<int>(threadIdx.x); i < bytes; i += stride) {
      *reinterpret_cast<uint4*>(static_cast<char*>(shared) + i) =
          *reinterpret_cast<const uint4*>(static_cast<const char*>(global) + i);
    }
#endif
  }

  // All threads call it, once for each start(), and then see the copy.
  __device__ __forceinline__ void wait() {
#if __CUDA_ARCH__ >= 900
    std::uint32_t done = 0;
    while (done == 0) {
      asm volatile(
          "{\n"
          ".reg .pred done;\n"
          "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n"
          "selp.u32 %0, 1, 0, done;\n"
          "}"
          : "=r"(done)
          : "r"(address(barrier_)), "r"(parity_)
          : "memory");
    }
    parity_ ^= 1u;
#else
    __syncthreads();  // every thread has made its part of the copy
#endif
  }

 private:
#if __CUDA_ARCH__ >= 900
  static __device__ __forceinline__ std::uint32_t address(const void* pointer) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
  }
#endif

  std::uint64_t* barrier_;
  std::uint32_t parity_ = 0;
};

}  // namespace weft::kernels::device

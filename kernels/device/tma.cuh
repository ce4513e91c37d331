// SPDX-License-Identifier: MIT
// The bulk tensor copy engine (TMA) and the barriers in shared memory that it completes on (PTX
// ISA, "mbarrier" and "cp.async.bulk.tensor"). Needs sm_90.
//
// A barrier completes a phase when its expected threads have arrived and its expected bytes have
// landed; waiting names the parity of the phase, which begins with 0. Functions with `rank` act in
// the block of that rank in the cluster.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace weft::kernels::device {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// Dynamic shared memory from its first multiple of 1024 bytes on, where boxes begin whose rows of
// 128 bytes are swizzled. So the launch asks for 1024 bytes more.
__device__ __forceinline__ char* aligned_shared() {
  extern __shared__ char shared[];
  return shared + (1024 - shared_address(shared) % 1024) % 1024;
}

#if __CUDA_ARCH__ >= 900

// One thread initialises; the others of the cluster see it after fence_barrier_init and a barrier.
__device__ __forceinline__ void barrier_init(std::uint64_t* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(arrivals));
}

__device__ __forceinline__ void fence_barrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Arrives and adds bytes that this phase waits for.
__device__ __forceinline__ void barrier_expect(std::uint64_t* barrier, int bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}

__device__ __forceinline__ void barrier_arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
               : "memory");
}

// Says that this thread is done with reading; what it wrote is not ordered for other blocks.
__device__ __forceinline__ void barrier_arrive(std::uint64_t* barrier, int rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(shared_address(barrier)),
      "r"(rank)
      : "memory");
}

// Waits until the phase of this parity is complete.
__device__ __forceinline__ void barrier_wait(std::uint64_t* barrier, std::uint32_t parity) {
  std::uint32_t done = 0;
  while (done == 0) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n"
        "selp.u32 %0, 1, 0, done;\n"
        "}"
        : "=r"(done)
        : "r"(shared_address(barrier)), "r"(parity)
        : "memory");
  }
}

// A place in a ring of stages: a stage, and the parity of the phase that its barriers are in.
template <int kStages>
struct BarrierRing {
  int stage = 0;
  std::uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == kStages) stage = 0, parity ^= 1;
  }
};

// Copies the box of `map` whose first element is (x, y), x along rows of memory, to shared memory;
// its bytes count at `barrier`. Elements outside of the tensor become 0. Unless `really`, it copies
// nothing: a thread that passes by early has the code on its SM when time is short.
__device__ __forceinline__ void tma_load(void* shared, const CUtensorMap& map, int x, int y,
                                         std::uint64_t* barrier, bool really = true) {
  asm volatile(
      "{\n"
      ".reg .pred really;\n"
      "setp.ne.b32 really, %5, 0;\n"
      "@really cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];\n"
      "}" ::"r"(shared_address(shared)),
      "l"(&map), "r"(x), "r"(y), "r"(shared_address(barrier)), "r"(static_cast<int>(really))
      : "memory");
}

// The same of a tensor with four dimensions: the box from (x, y, z, w), which may be negative.
__device__ __forceinline__ void tma_load(void* shared, const CUtensorMap& map, int x, int y, int z,
                                         int w, std::uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(shared_address(shared)),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(shared_address(barrier))
      : "memory");
}

// Copies `bytes`, a multiple of 16 as the addresses are, which count at `barrier`.
__device__ __forceinline__ void bulk_load(void* shared, const void* global, int bytes,
                                          std::uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(shared)),
      "l"(global), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}

// As the first to every block of the cluster whose bit is set in `ranks`, at the same place and
// counted at the same barrier of each.
__device__ __forceinline__ void tma_load_multicast(void* shared, const CUtensorMap& map, int x,
                                                   int y, std::uint64_t* barrier,
                                                   std::uint16_t ranks, bool really = true) {
  asm volatile(
      "{\n"
      ".reg .pred really;\n"
      "setp.ne.b32 really, %6, 0;\n"
      "@really cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;\n"
      "}" ::"r"(shared_address(shared)),
      "l"(&map), "r"(x), "r"(y), "r"(shared_address(barrier)), "h"(ranks),
      "r"(static_cast<int>(really))
      : "memory");
}

// Copies a box from shared memory to the tensor; what lies outside of it is left out. Threads that
// wrote the box call wgmma_fence_shared() and meet at a barrier before. A thread's copies belong to
// the group that it commits next.
__device__ __forceinline__ void tma_store(const CUtensorMap& map, const void* shared, int x,
                                          int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),
      "r"(x), "r"(y), "r"(shared_address(shared))
      : "memory");
}
__device__ __forceinline__ void tma_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// Waits until this thread's groups have read shared memory, or until they have written.
__device__ __forceinline__ void tma_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
__device__ __forceinline__ void tma_wait() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

__device__ __forceinline__ void tma_prefetch(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Prefetches a box into the L2 cache; returns at once.
__device__ __forceinline__ void tma_prefetch(const CUtensorMap& map, int x, int y) {
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1, %2}];" ::"l"(&map), "r"(x),
               "r"(y)
               : "memory");
}

__device__ __forceinline__ int cluster_rank() {
  std::uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return static_cast<int>(rank);
}

// A barrier of all threads of the cluster.
__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
}

// The same without a fence: what threads wrote before is not ordered for other blocks, barriers
// that fence_barrier_init() published excepted.
__device__ __forceinline__ void cluster_sync_unordered() {
  asm volatile("barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;" ::: "memory");
}

// True in one lane of a warp whose lanes all call it. The compiler then knows that what they do
// under this condition is done once.
__device__ __forceinline__ bool elect_lane() {
  std::uint32_t elected;
  asm volatile(
      "{\n"
      ".reg .pred chosen;\n"
      "elect.sync _|chosen, 0xffffffff;\n"
      "selp.u32 %0, 1, 0, chosen;\n"
      "}"
      : "=r"(elected));
  return elected != 0;
}

#endif

}  // namespace weft::kernels::device

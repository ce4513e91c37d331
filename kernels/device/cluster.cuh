// SPDX-License-Identifier: MIT
// Collectives of a thread block cluster of kBlocks blocks of kThreads threads (sm_90; PTX ISA,
// "Cluster of Cooperative Thread Arrays"). On older devices the kernel traps.
#pragma once

#include <cooperative_groups.h>

#include "kernels/device/warp.cuh"

namespace weft::kernels::device {

// The index of this block in its cluster.
template <int kBlocks>
__device__ __forceinline__ int cluster_block() {
  return static_cast<int>(blockIdx.x) % kBlocks;
}

// Tells the cluster that this block runs, and waits until all blocks do: shared memory of a block
// that has not started must not be touched. Loads issued in between hide the wait.
__device__ __forceinline__ void cluster_arrive() {
#if __CUDA_ARCH__ >= 900
  cooperative_groups::this_cluster().barrier_arrive();
#else
  __trap();
#endif
}
__device__ __forceinline__ void cluster_wait() {
#if __CUDA_ARCH__ >= 900
  cooperative_groups::this_cluster().barrier_wait();
#endif
}

// The same variable in the shared memory of the block of this rank, which must be running.
template <class T>
__device__ __forceinline__ T* cluster_shared(T* shared, int rank) {
#if __CUDA_ARCH__ >= 900
  return cooperative_groups::this_cluster().map_shared_rank(shared, rank);
#else
  static_cast<void>(rank);
  return shared;
#endif
}

// Shared memory of one cluster_reduce(): the result of every warp of the cluster.
template <class T, int kThreads, int kBlocks>
struct ClusterReduceStorage {
  T warp[kThreads / kWarpSize * kBlocks];
};

// All threads of the cluster must call it, after cluster_wait() and with storage that no earlier
// call has used. Each warp sends its result to every block, so one barrier is enough. The result
// is valid, with the same bits, in all threads; op must be commutative.
template <int kThreads, int kBlocks, class T, class Op>
__device__ __forceinline__ T cluster_reduce(T value, Op op,
                                            ClusterReduceStorage<T, kThreads, kBlocks>& storage) {
  constexpr int kWarps = kThreads / kWarpSize, kAll = kWarps * kBlocks;
  static_assert(kThreads % kWarpSize == 0 && kAll % kWarpSize == 0, "each lane reads kAll / 32");
  static_assert(kBlocks <= kWarpSize, "a lane sends to one block");
  value = warp_reduce(value, op);
#if __CUDA_ARCH__ >= 900
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const auto cluster = cooperative_groups::this_cluster();
  if (lane < kBlocks) {
    T* there = cluster.map_shared_rank(storage.warp, lane);
    there[cluster_block<kBlocks>() * kWarps + warp] = value;
  }
  cluster.sync();  // every warp has sent its result before any thread reads
  value = storage.warp[lane];
#pragma unroll
  for (int i = kWarpSize; i < kAll; i += kWarpSize) value = op(value, storage.warp[i + lane]);
  value = warp_reduce(value, op);
#else
  (void)storage;
#endif
  return value;
}

}  // namespace weft::kernels::device

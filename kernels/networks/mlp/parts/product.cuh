// SPDX-License-Identifier: MIT
// The product of a block: (64, kN) sums over k, in bf16 on wgmma; in fp16 see halves.cuh. The copy
// engine brings the operands from memory. Four warps multiply, or two teams of four. Two warps more
// start copies into a ring of stages of 64 along k, one for each operand. sm_90a.
//
// An operand whose rows run along k is one box of 64 rows for each 64 of m or n; one whose rows run
// along m or n is a panel of 64 rows of k for each 64 of those (kernels/device/wgmma.cuh).
//
// kShared: the two blocks of a cluster have the same columns and neighbouring rows. Each copies
// half of B, which lies in panels, for both.
// kParts: 2 for values in two parts; a box of big ones is followed by the box of their small ones.
// kReaders: teams that read a stage.
#pragma once

#include "engine/cuda/tensor_map.h"
#include "kernels/device/overlap.cuh"
#include "kernels/device/tma.cuh"
#include "kernels/device/wgmma.cuh"
#include "kernels/networks/mlp/parts/arguments.h"

namespace weft::kernels::fused_mlp {

constexpr int kConsumers = 128;  // threads of a team
constexpr int kCopyThreads = 64;
constexpr int kBoxBytes = kSide * 128;

// Boxes of 64 columns of an operand.
template <class Element>
CUtensorMap operand_map(const Element* data, std::int64_t rows, std::int64_t columns,
                        std::int64_t pitch, int box_rows = kSide) {
  constexpr auto kType = std::is_same_v<Element, Half> ? TensorMapType::fp16 : TensorMapType::bf16;
  return matrix_map(data, kType, {rows, columns, pitch}, box_rows);
}

template <bool kPanelsA_, bool kPanelsB_, int kN_, int kStages_, bool kShared_ = false,
          int kParts_ = 1, int kReaders_ = 1>
struct Product {
  static constexpr bool kPanelsA = kPanelsA_, kPanelsB = kPanelsB_;
  static constexpr int kN = kN_, kStages = kStages_, kBoxesB = kN / kSide;
  static constexpr int kParts = kParts_, kReaders = kReaders_;
  static constexpr int kStageBytes = (1 + kBoxesB) * kParts * kBoxBytes;
  static constexpr std::size_t kSharedBytes = kStages * kStageBytes + 1024;  // to align
  static constexpr bool kShared = kShared_;
  static constexpr int kCluster = kShared ? 2 : 1;
  // From one wgmma to the next, 16 along k, in units of a descriptor.
  static constexpr int kStepA = (kPanelsA ? 16 * 128 : 32) / 16;
  static constexpr int kStepB = (kPanelsB ? 16 * 128 : 32) / 16;
  static_assert(!kShared || (kPanelsB && kBoxesB % 2 == 0), "half of B is whole panels");
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

template <class P>
struct Barriers {
  std::uint64_t full[P::kStages], empty[P::kStages];

  // All threads; others may use barriers that this one has initialised before. Expects the first
  // chunks.
  __device__ __forceinline__ void init(int chunks) {
    if (threadIdx.x == 0) {
      for (int stage = 0; stage < P::kStages; ++stage) {
        device::barrier_init(full + stage, 1);
        device::barrier_init(empty + stage, P::kCluster * P::kReaders);
        if (stage < chunks) device::barrier_expect(full + stage, P::kStageBytes);
      }
      device::fence_barrier_init();
    }
    if constexpr (P::kShared) {
      device::cluster_sync_unordered();
    } else {
      __syncthreads();
    }
  }
};

// A barrier of the first kTeams teams.
template <int kTeams>
__device__ __forceinline__ void teams_sync() {
  asm volatile("bar.sync %0, %1;" ::"n"(kTeams), "n"(kTeams * kConsumers) : "memory");
}

// A box of an operand, or one for each part: rows along k or along the other extent `x`.
template <bool kPanels, int kParts = 1>
__device__ __forceinline__ void copy_box(char* to, const CUtensorMap& map, int x, int k,
                                         std::uint64_t* full, bool really = true) {
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
    const int column = kParts * (kPanels ? x : k) + part * kSide;
    device::tma_load(to + part * kBoxBytes, map, column, kPanels ? k : x, full, really);
  }
}

// copy(chunk, true) for each chunk, when the kernels ahead are complete. Before that copy(0,
// false), which copies nothing, brings the code to the SM: to fetch it takes longer than to start a
// copy.
template <class Copy>
__device__ __forceinline__ void copy_chunks(int chunks, const Copy& copy) {
#pragma unroll 1
  for (int pass = 0; pass <= chunks; ++pass) {
    if (pass == 1) device::overlap_wait();
    copy(max(pass - 1, 0), pass > 0);
  }
}

// For the two warps that start copies. One of them calls then() when it has started its last one.
template <class P, class Then>
__device__ __forceinline__ void produce(char* ring, Barriers<P>& barriers, const CUtensorMap& map_a,
                                        const CUtensorMap& map_b, int row, int column, int chunks,
                                        const Then& then) {
  constexpr int kParts = P::kParts, kMine = P::kBoxesB * kParts / P::kCluster;
  if (threadIdx.x % 32 != 0) return;
  const auto wait_until_free = [&](int chunk) {
    if (chunk < P::kStages) return;
    device::barrier_wait(barriers.empty + chunk % P::kStages, chunk / P::kStages % 2 ^ 1);
  };
  if (threadIdx.x / 32 % 2 == 0) {
    copy_chunks(chunks, [&](int chunk, bool really) {
      const int stage = chunk % P::kStages;
      wait_until_free(chunk);
      if (chunk >= P::kStages) device::barrier_expect(barriers.full + stage, P::kStageBytes);
      copy_box<P::kPanelsA, kParts>(ring + stage * P::kStageBytes, map_a, row, chunk * kSide,
                                    barriers.full + stage, really);
    });
    return then();
  }
  const int first = (P::kShared ? device::cluster_rank() : 0) * kMine;
  copy_chunks(chunks, [&](int chunk, bool really) {
    const int stage = chunk % P::kStages, k = chunk * kSide;
    char* const to = ring + stage * P::kStageBytes + kParts * kBoxBytes;
    std::uint64_t* const full = barriers.full + stage;
    wait_until_free(chunk);
    if constexpr (P::kShared) {
      for (int box = first; box < first + kMine; ++box) {
        device::tma_load_multicast(to + box * kBoxBytes, map_b, kParts * column + box * kSide, k,
                                   full, 3, really);
      }
    } else {
      for (int box = 0; box < P::kBoxesB; ++box) {
        copy_box<P::kPanelsB, kParts>(to + box * kParts * kBoxBytes, map_b, column + box * kSide, k,
                                      full, really);
      }
    }
  });
}

// A team has read a stage.
template <class P>
__device__ __forceinline__ void release(Barriers<P>& barriers, int stage) {
  const int thread = static_cast<int>(threadIdx.x) % kConsumers;
  if (thread >= P::kCluster) return;
  if constexpr (P::kShared) {
    device::barrier_arrive(barriers.empty + stage, thread);
  } else {
    device::barrier_arrive(barriers.empty + stage);
  }
}

// What lies at `a` times what lies at `b`, 64 along k and kN columns; commits it.
template <class P, int kN>
__device__ __forceinline__ void multiply(float (&sum)[kN / 2], const char* a, const char* b,
                                         bool accumulate) {
  const std::uint64_t from_a = device::wgmma_descriptor(a, kBoxBytes);
  const std::uint64_t from_b = device::wgmma_descriptor(b, kBoxBytes);
  device::wgmma_fence();
#pragma unroll
  for (int step = 0; step < 4; ++step) {
    device::wgmma_bf16<kN, P::kPanelsA, P::kPanelsB>(
        sum, from_a + step * P::kStepA, from_b + step * P::kStepB, accumulate || step > 0);
  }
  device::wgmma_commit();
}

// For a team, which has its share of the columns.
template <class P>
__device__ __forceinline__ void consume(float (&sum)[P::kN / P::kReaders / 2], char* ring,
                                        Barriers<P>& barriers, int chunks, int team = 0) {
  constexpr int kColumns = P::kN / P::kReaders;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const int stage = chunk % P::kStages;
    device::barrier_wait(barriers.full + stage, chunk / P::kStages % 2);
    const char* from = ring + stage * P::kStageBytes;
    multiply<P, kColumns>(sum, from, from + (1 + team * kColumns / kSide) * kBoxBytes, chunk > 0);
    device::wgmma_wait<1>();  // the products of the stage before are done
    // Only stages that are filled again are released: the other block may have left.
    const int before = chunk - 1;
    if (before >= 0 && before + P::kStages < chunks) release(barriers, before % P::kStages);
  }
  device::wgmma_wait<0>();
}

#endif

}  // namespace weft::kernels::fused_mlp

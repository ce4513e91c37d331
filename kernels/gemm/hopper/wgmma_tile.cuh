// SPDX-License-Identifier: MIT
// GEMM, the rungs on wgmma: tiles, their order, and the ring of stages. See wgmma.cuh.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/gemm/hopper/k_major.h"

namespace weft::kernels::cuda {

template <class Element_, int kM_, int kN_, bool kTransposeA_, bool kTransposeB_, bool kShareB_,
          int kParts_ = 1>
struct WgmmaTile {
  using Element = Element_;
  static constexpr bool kHalf = std::is_same_v<Element, Half>, kFloat = sizeof(Element) == 4;
  using Result = std::conditional_t<kHalf, float, Element>;
  // A and B that are contiguous along m or n lie in shared memory as panels of 128 bytes. Tensor
  // cores read panels of bf16 themselves. Those of tf32 go through registers, for A only.
  static constexpr bool kPanelsA = kTransposeA_, kPanelsB = !kTransposeB_;
  static constexpr bool kRegistersA = kPanelsA && kFloat;
  static_assert(!kFloat || !kPanelsB, "a tf32 operand in shared memory is contiguous along k");
  static constexpr int kParts = kParts_;
  static_assert(kParts == 1 || (kN_ <= 128 && !kPanelsA),
                "sums of a chunk and their totals are in registers");
  static constexpr int kM = kM_, kN = kN_, kK = 128 / sizeof(Element);
  static constexpr bool kShareB = kShareB_;
  static constexpr int kCluster = kShareB ? 2 : 1;
  static constexpr int kRowsOfCluster = kCluster * kM;
  static constexpr int kBoxB = kN / kCluster;  // of B, what one copy brings
  static constexpr int kConsumers = kM / 64;   // warpgroups
  static constexpr int kThreads = 128 * (1 + kConsumers);
  static constexpr int kBytesA = kM * 128, kBytesB = kN * 128, kStageBytes = kBytesA + kBytesB;
  static constexpr int kStages = kN == 256 ? 4 : kM == 128 ? 7 : 8;
  // Sums of the largest tile reach memory by the copy engine. A consumer has two boxes for them.
  static constexpr bool kStoresBoxes = kN == 256 && std::is_same_v<Result, Bfloat16>;
  static constexpr int kBox = 64, kBoxBytes = kBox * 128;  // 64 x 64
  static constexpr int kBoxesBytes = kStoresBoxes ? kConsumers * 2 * kBoxBytes : 0;
  static constexpr std::size_t kSharedBytes =
      kStages * kStageBytes + kBoxesBytes + 1024;  // to align
  static constexpr int kPanelBytes = kK * 128;
  static constexpr int kPanel = 128 / sizeof(Element);  // elements of a panel along m or n
  // How many threads of a consumer report that it has read a stage. The tensor core reads for four
  // warps together, so one reports for all. Where warps read by themselves, each reports.
  static constexpr int kSpeakers = kRegistersA ? 4 : 1;
};

// The order in which clusters of tiles are taken.
struct WgmmaOrder {
  static constexpr int kGroup = 8;  // rows of clusters
  int rows, columns;                // clusters along m and n

  __device__ int tiles() const { return rows * columns; }
  __device__ int2 place(int tile) const {
    const int group = tile / (kGroup * columns), inside = tile % (kGroup * columns);
    const int height = min(kGroup, rows - group * kGroup);
    return {group * kGroup + inside % height, inside / height};
  }
};

}  // namespace weft::kernels::cuda

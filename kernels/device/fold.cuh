// SPDX-License-Identifier: MIT
// Sums of several values over the lanes of a warp, where each lane ends with a share of the sums.
#pragma once

#include "kernels/device/warp.cuh"

namespace weft::kernels::device {

// Tells the sums that a lane holds after fold().
struct Folded {
  int first;   // index of the first of them
  bool owner;  // false where a lower lane holds the same
};

// How many sums fold() leaves in a lane.
template <int kFrom, int kTo, int kCount>
__host__ __device__ constexpr int folded_count() {
  int count = kCount;
  for (int offset = kFrom; offset >= kTo; offset /= 2) count = count % 2 == 0 ? count / 2 : count;
  return count;
}

namespace detail {

template <int kOffset, int kTo, int kCount, int kSize>
__device__ __forceinline__ void fold_step(float (&values)[kSize], int lane, Folded& result) {
  if constexpr (kOffset >= kTo) {
    const bool upper = (lane & kOffset) != 0;
    if constexpr (kCount % 2 == 0) {
      constexpr int kHalf = kCount / 2;
#pragma unroll
      for (int i = 0; i < kHalf; ++i) {
        const float sent = upper ? values[i] : values[i + kHalf];
        const float kept = upper ? values[i + kHalf] : values[i];
        values[i] = kept + __shfl_xor_sync(kFullWarp, sent, kOffset);
      }
      if (upper) result.first += kHalf;
      fold_step<kOffset / 2, kTo, kHalf>(values, lane, result);
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        values[i] += __shfl_xor_sync(kFullWarp, values[i], kOffset);
      }
      if (upper) result.owner = false;
      fold_step<kOffset / 2, kTo, kCount>(values, lane, result);
    }
  }
}

}  // namespace detail

// Adds values[i] over the lanes whose numbers differ in bits kFrom down to kTo (powers of two). A
// step halves the values: lanes send one half to their partner and keep the other, so n values over
// 32 lanes take about n shuffles and not 5n; an odd number is added as a whole. The sums are left
// in values[0...], in a fixed order of additions. All 32 lanes call it.
template <int kFrom, int kTo, int kCount>
__device__ __forceinline__ Folded fold(float (&values)[kCount]) {
  static_assert(kTo >= 1, "the last step is between neighbours");
  Folded result{0, true};
  detail::fold_step<kFrom, kTo, kCount>(values, static_cast<int>(threadIdx.x) % kWarpSize, result);
  return result;
}

}  // namespace weft::kernels::device

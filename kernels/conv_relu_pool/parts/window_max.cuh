// SPDX-License-Identifier: MIT
// The maximum of a window and which of its elements it was, as conv_relu_pool.h asks.
#pragma once

#include "kernels/conv_relu_pool/conv_relu_pool.h"

namespace weft::kernels::cuda {

// The larger of two values, or NaN where one of them is.
__device__ __forceinline__ float max_or_nan(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float larger = 0;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
  return larger;
#else
  return !(b <= a) && a == a ? b : a;
#endif
}

struct WindowMax {
  float best;
  int index = 0;

  __device__ explicit WindowMax(float first) : best(first) {}
  // A NaN wins and stays; of equal values the first stays.
  __device__ void offer(float value, int i) {
    if (value > best) index = i;
    best = max_or_nan(best, value);
  }
  __device__ float relu() const { return max_or_nan(best, 0); }
  __device__ std::uint8_t argmax() const {
    return best > 0 ? static_cast<std::uint8_t>(index) : kReluPoolCut;
  }
};

}  // namespace weft::kernels::cuda

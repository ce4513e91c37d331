// SPDX-License-Identifier: MIT
// What a row of probabilities should be, times the scale of the gradient: see softmax.h.
#pragma once

namespace weft::kernels::cuda {

struct Target {
  float label, other;

  __device__ __forceinline__ Target(float scale, float smoothing, int cols)
      : label(scale * (1.0f - smoothing) + scale * smoothing / static_cast<float>(cols)),
        other(scale * smoothing / static_cast<float>(cols)) {}
};

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// The maximum of a window and which of its elements it was, as conv_relu_pool.h asks.
#pragma once

#include "kernels/conv_relu_pool/conv_relu_pool.h"

namespace weft::kernels::cuda {

struct WindowMax {
  float best;
  int index = 0;

  __device__ explicit WindowMax(float first) : best(first) {}
  // The first NaN wins and stays; of equal values the first stays.
  __device__ void offer(float value, int i) {
    if (!(value <= best) && best == best) best = value, index = i;
  }
  __device__ float relu() const { return best < 0 ? 0.0f : best; }
  __device__ std::uint8_t argmax() const {
    return best > 0 ? static_cast<std::uint8_t>(index) : kReluPoolCut;
  }
};

}  // namespace weft::kernels::cuda

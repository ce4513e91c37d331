// SPDX-License-Identifier: MIT
// Where parts of fp16 lie in a row, and the powers of two that scale them
// (kernels/device/halves.cuh) where these are known before the values are.
#pragma once

#include "kernels/device/halves.cuh"
#include "kernels/networks/mlp/parts/arguments.h"

namespace weft::kernels::fused_mlp {

// Where the big part of a column lies in a row; its small part is kSide behind.
WEFT_HOST_DEVICE constexpr std::int64_t big_column(std::int64_t column) {
  return 2 * column - column % kSide;
}

// The shift of the images, and of the 1 behind them: no pixel exceeds black, white and 1.
__device__ __forceinline__ int image_shift(const draw::Line& line) {
  const std::uint32_t one = __float_as_uint(1.0f);
  return device::half_shift(
      device::larger(device::larger(one, line.offset), 255 * line.slope + line.offset));
}

// The largest power of two in the rows of a batch, as an exponent. A gradient of a logit is at most
// 1 / rows.
__device__ __forceinline__ int rows_exponent(int rows) {
  return 31 - __clz(rows);
}
__device__ __forceinline__ int logit_shift(int rows) {
  return 14 + rows_exponent(rows);
}
// The gradient behind the second layer is a sum of gradients of logits, whose sizes add up to at
// most 2 / rows, times weights below 2^(15 - w3_shift).
__device__ __forceinline__ int hidden_shift(int rows, int w3_shift) {
  return w3_shift - 1 + rows_exponent(rows);
}

}  // namespace weft::kernels::fused_mlp

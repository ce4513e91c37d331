// SPDX-License-Identifier: MIT
// From the values of neighbouring channels to a quad of a cell (channel_blocks.cuh).
#pragma once

#include "kernels/conv/parts/channel_blocks.cuh"
#include "kernels/device/mma.cuh"

namespace weft::kernels::cuda {

template <CellType kType>
constexpr int kQuadChannels = kCellChannels<kType> / kCellQuads;

template <CellType kType>
__device__ __forceinline__ uint4 make_quad(const float (&v)[kQuadChannels<kType>]) {
  if constexpr (kType == CellType::fp32) {
    return {__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]),
            __float_as_uint(v[3])};
  } else if constexpr (kType == CellType::tf32) {
    return {device::to_tf32(v[0]), device::to_tf32(v[1]), device::to_tf32(v[2]),
            device::to_tf32(v[3])};
  } else if constexpr (kType == CellType::bf16_as_fp32) {
    return {device::to_bf16(v[0]), device::to_bf16(v[1]), device::to_bf16(v[2]),
            device::to_bf16(v[3])};
  } else {
    return {device::to_bf16_pair(v[0], v[1]), device::to_bf16_pair(v[2], v[3]),
            device::to_bf16_pair(v[4], v[5]), device::to_bf16_pair(v[6], v[7])};
  }
}

// Stores a quad, and with two parts `rest` quads behind it what tf32 leaves of its values.
template <CellType kType, int kParts>
__device__ __forceinline__ void store_quad(uint4* to, std::int64_t rest,
                                           const float (&value)[kQuadChannels<kType>]) {
  const uint4 quad = make_quad<kType>(value);
  *to = quad;
  if constexpr (kParts == 2) {
    static_assert(kType == CellType::tf32);
    const float left[4] = {value[0] - __uint_as_float(quad.x), value[1] - __uint_as_float(quad.y),
                           value[2] - __uint_as_float(quad.z), value[3] - __uint_as_float(quad.w)};
    to[rest] = make_quad<kType>(left);
  }
}

// What bf16 leaves of the values, rounded to bf16 too: the two parts have 16 bits of the mantissa.
__device__ __forceinline__ uint4 remainder_quad(const float (&v)[8], const uint4& rounded) {
  const auto pair = [&](int i, std::uint32_t word) {
    return device::to_bf16_pair(v[i] - __uint_as_float(word << 16),
                                v[i + 1] - __uint_as_float(word & 0xffff0000u));
  };
  return {pair(0, rounded.x), pair(2, rounded.y), pair(4, rounded.z), pair(6, rounded.w)};
}

}  // namespace weft::kernels::cuda

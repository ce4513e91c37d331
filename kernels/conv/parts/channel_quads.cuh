// SPDX-License-Identifier: MIT
// From the values of neighbouring channels to a quad of a cell (channel_blocks.cuh).
#pragma once

#include "kernels/conv/parts/channel_blocks.cuh"
#include "kernels/device/halves.cuh"
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

// Two quads of halves: big ones, and small ones times `small_scale`.
struct HalfQuads {
  uint4 big, small;

  __device__ __forceinline__ HalfQuads(const float (&v)[8], int shift, float small_scale) {
    const device::HalfScale scale(shift);
    device::split_halves(big.x, small.x, scale(v[0]), scale(v[1]), small_scale);
    device::split_halves(big.y, small.y, scale(v[2]), scale(v[3]), small_scale);
    device::split_halves(big.z, small.z, scale(v[4]), scale(v[5]), small_scale);
    device::split_halves(big.w, small.w, scale(v[6]), scale(v[7]), small_scale);
  }
};

// 32 numbers are 4 + 4 quads of 128 bytes. This stores a big one and its small one, 2^11 times too
// large, of one operand.
__device__ __forceinline__ void store_halves(uint4* to, const float (&value)[8], int shift) {
  const HalfQuads quads(value, shift, device::kSmallScale);
  to[0] = quads.big;
  to[4] = quads.small;
}

// And this of the other: big and big / 2^11, which meets those small ones, and then small and 0.
__device__ __forceinline__ void store_scaled_halves(uint4* to, uint4* rest, const float (&value)[8],
                                                    int shift) {
  const HalfQuads quads(value, shift, 1);
  const auto down = [](std::uint32_t pair) {
    const float2 numbers = device::floats_of(pair);
    return device::half_pair(numbers.x / device::kSmallScale, numbers.y / device::kSmallScale);
  };
  to[0] = quads.big;
  to[4] = {down(quads.big.x), down(quads.big.y), down(quads.big.z), down(quads.big.w)};
  rest[0] = quads.small;
  rest[4] = {0, 0, 0, 0};
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

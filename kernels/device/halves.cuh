// SPDX-License-Identifier: MIT
// Floats as sums of two numbers of fp16, for products of fp32 accuracy on tensor cores. Of the
// float x, one of many with the absolutely largest finite value L:
//
//   x 2^shift = big + small         big = fp16(x 2^shift), small = what that leaves
//
// The shift brings L to [2^14, 2^15). fp16 has 11 significant bits, so the two keep 22 or more, as
// long as `small` is not below what fp16 can hold, 2^-24. So `small` is stored 2^11 times too
// large, where a product can take that back: then what is lost is at most 2^-23 |x| or 2^-51 L,
// whichever is larger. Stored as it is, it is at most 2^-23 |x| or 2^-40 L.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

namespace weft::kernels::device {

constexpr float kSmallScale = 2048;  // 2^11

// The larger of a largest value, as the bits of a float, and |value|. Infinity and NaN do not
// count: halves of them are infinite or NaN whatever the scale.
__device__ __forceinline__ std::uint32_t larger(std::uint32_t largest, float value) {
  const std::uint32_t bits = __float_as_uint(value) & 0x7fffffffu;
  return bits < 0x7f800000u ? max(largest, bits) : largest;
}

struct Larger {
  __device__ __forceinline__ std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    return max(a, b);
  }
};

// From -113 to 163; 0 where all values are 0.
__device__ __forceinline__ int half_shift(std::uint32_t largest) {
  if (largest == 0) return 0;
  const int exponent = largest >> 23 != 0 ? static_cast<int>(largest >> 23) - 127
                                          : -118 - __clz(static_cast<int>(largest));
  return 14 - exponent;
}

// 2^shift in two factors, each of which is a float.
struct HalfScale {
  float first, second;

  __device__ __forceinline__ explicit HalfScale(int shift)
      : first(power_of_two(shift / 2)), second(power_of_two(shift - shift / 2)) {}
  __device__ __forceinline__ float operator()(float value) const { return value * first * second; }

 private:
  __device__ __forceinline__ static float power_of_two(int exponent) {
    return __int_as_float((exponent + 127) << 23);
  }
};

// Takes back the shifts of the factors of a sum of products of halves; 2^-252 of one is 0.
__device__ __forceinline__ HalfScale unscale(int shift) {
  return HalfScale(max(-shift, -252));
}

// Two numbers of fp16 in a word, `low` in the lower half.
__device__ __forceinline__ std::uint32_t half_pair(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}
__device__ __forceinline__ float2 floats_of(std::uint32_t half_pair) {
  return __half22float2(*reinterpret_cast<const __half2*>(&half_pair));
}

// Two scaled floats in halves, small ones times small_scale.
__device__ __forceinline__ void split_halves(std::uint32_t& big, std::uint32_t& small, float low,
                                             float high, float small_scale) {
  big = half_pair(low, high);
  const float2 kept = floats_of(big);
  small = half_pair((low - kept.x) * small_scale, (high - kept.y) * small_scale);
}

}  // namespace weft::kernels::device

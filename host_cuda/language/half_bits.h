// SPDX-License-Identifier: MIT
// The bits of a half and the float that it stands for, without the names of cuda_fp16.h.
#pragma once

#include <math.h>

#include <cstdint>

namespace weft::host_cuda {

// To the nearest half, ties to even; beyond 65504 to infinity. A NaN stays a NaN.
inline std::uint16_t half_bits(float value) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {  // less than the smallest normal half, 2^-14
    const float scaled = __builtin_bit_cast(float, magnitude) * 16777216.0f;  // in units of 2^-24
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(rintf(scaled)));
  }
  const std::uint32_t rounded = magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u);
  return static_cast<std::uint16_t>(sign | rounded >> 13);
}
inline float float_of_half(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) {
    return __builtin_bit_cast(float, sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  }
  const float value = magnitude < 0x400u
                          ? static_cast<float>(magnitude) / 16777216.0f
                          : __builtin_bit_cast(float, (magnitude << 13) + 0x38000000u);
  return sign != 0 ? -value : value;
}

}  // namespace weft::host_cuda

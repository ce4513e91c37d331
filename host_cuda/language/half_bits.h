// SPDX-License-Identifier: MIT
// The bits of a half and the float that it stands for, without the names of cuda_fp16.h; and
// conversions of the numbers of 16 bits.
#pragma once

#include <math.h>

#include <cstdint>
#include <limits>

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

// To the nearest bfloat16, ties to even. A NaN stays a NaN.
inline std::uint16_t bfloat16_bits(float value) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  if (value != value) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// A Number of 16 bits: the nearest one when `direction` is 0, the next one above (1) or below (-1)
// a value that lies between two. Where a float is not exact, its last bit is set to 1, so that it
// rounds on as the value would.
template <class Number>
Number rounded_to(double value, int direction) {
  auto near = static_cast<float>(value);
  if (value == value && static_cast<double>(near) != value && !isinf(value)) {
    auto bits = __builtin_bit_cast(std::uint32_t, near);
    if (fabs(static_cast<double>(near)) > fabs(value)) --bits;
    near = __builtin_bit_cast(float, bits | 1u);
  }
  Number result(near);
  const auto found = static_cast<double>(float(result));
  if (direction > 0 ? found < value : direction < 0 && found > value) {
    const bool grows = ((result.bits & 0x8000u) == 0) == (direction > 0);
    if ((result.bits & 0x7fffu) == 0) {
      result.bits = direction > 0 ? 0x0001 : 0x8001;
    } else {
      result.bits = static_cast<std::uint16_t>(grows ? result.bits + 1 : result.bits - 1);
    }
  }
  return result;
}

// 0 of a NaN, and the least or the largest Integer of what is beyond it.
template <class Integer>
Integer nearest_integer(float value) {
  using Limits = std::numeric_limits<Integer>;
  if (value != value) return 0;
  if (value <= static_cast<float>(Limits::min())) return Limits::min();
  return value >= static_cast<float>(Limits::max()) ? Limits::max() : static_cast<Integer>(value);
}

}  // namespace weft::host_cuda

// SPDX-License-Identifier: MIT
// Numbers of 16 bits as floats, which is exact, and back.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace weft::data {

// IEEE 754 binary16: 5 bits of exponent and 10 of fraction.
inline float from_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                  : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  if (exponent == 31) magnitude = fraction == 0 ? HUGE_VALF : NAN;
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// The nearest one, the even of two; infinity from 65520 on.
inline std::uint16_t to_half(float value) {
  const float magnitude = std::fabs(value);
  int bits = 0x7e00;  // not a number
  if (magnitude >= 65520.0f) {
    bits = 0x7c00;
  } else if (magnitude < 0x1p-14f) {
    bits = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 24)));
  } else if (!std::isnan(magnitude)) {
    const int exponent = std::ilogb(magnitude);
    const float fraction = std::nearbyint(std::ldexp(magnitude, 10 - exponent));  // 1024 to 2048
    bits = (exponent + 14) * 1024 + static_cast<int>(fraction);
  }
  return static_cast<std::uint16_t>(bits | (std::signbit(value) ? 0x8000 : 0));
}

// bfloat16: the upper half of a float.
inline float from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

}  // namespace weft::data

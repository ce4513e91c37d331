// SPDX-License-Identifier: MIT
// Numbers of 16 bits as floats; both conversions are exact.
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

// bfloat16: the upper half of a float.
inline float from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

}  // namespace weft::data

// SPDX-License-Identifier: MIT
// __nv_bfloat16 as far as the catalogue uses it: storage and conversions.
#pragma once

#include <cstdint>

struct __nv_bfloat16 {
  std::uint16_t bits;
};

inline float __bfloat162float(__nv_bfloat16 value) {
  return __builtin_bit_cast(float, std::uint32_t{value.bits} << 16);
}

// Rounds to nearest, ties to even. A NaN stays a NaN.
inline __nv_bfloat16 __float2bfloat16_rn(float value) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  if (value != value) return {static_cast<std::uint16_t>(bits >> 16 | 0x40)};
  return {static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

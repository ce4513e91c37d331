// SPDX-License-Identifier: MIT
// bfloat16: the upper half of a float. Eight bits of exponent, seven of mantissa.
#pragma once

#include <bit>
#include <cstdint>

namespace weft::kernels {

// Storage only; arithmetic is done in float. Bit-compatible with __nv_bfloat16.
struct Bfloat16 {
  std::uint16_t bits = 0;

  friend bool operator==(Bfloat16, Bfloat16) = default;  // of bits: NaN equals itself
};

constexpr float to_float(Bfloat16 value) {
  return std::bit_cast<float>(std::uint32_t{value.bits} << 16);
}

// Rounds to nearest, ties to even. A NaN stays a NaN.
constexpr Bfloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return {static_cast<std::uint16_t>(bits >> 16 | 0x40)};
  return {static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

}  // namespace weft::kernels

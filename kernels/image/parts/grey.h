// SPDX-License-Identifier: MIT
// The arithmetic of one pixel, for the CPU and the GPU.
#pragma once

#include <cstdint>

#include "engine/random.h"
#include "kernels/isa.h"

namespace weft::kernels::image {
inline namespace WEFT_ISA {

// Weights of ITU-R BT.601 in units of 2^-16; they add up to 2^16, so 255 stays 255.
WEFT_HOST_DEVICE inline std::uint8_t grey_of(std::uint32_t r, std::uint32_t g, std::uint32_t b) {
  return static_cast<std::uint8_t>((19595u * r + 38470u * g + 7471u * b + 32768u) >> 16);
}

// sum / count to the nearest, halves up; sum <= 255 * count. Narrow when both fit 32 bits, as a
// 64-bit division takes several times longer.
WEFT_HOST_DEVICE inline std::uint8_t mean_of(std::uint64_t sum, std::uint64_t count) {
  const std::uint64_t numerator = 2 * sum + count;
  if (numerator >> 32 == 0) {
    return static_cast<std::uint8_t>(static_cast<std::uint32_t>(numerator) /
                                     static_cast<std::uint32_t>(2 * count));
  }
  return static_cast<std::uint8_t>(numerator / (2 * count));
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::image

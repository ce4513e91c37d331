// SPDX-License-Identifier: MIT
// fp16: five bits of exponent, ten of mantissa.
#pragma once

#include <cstdint>

namespace weft::kernels {

// Storage only; arithmetic is done in float. Bit-compatible with __half. Two of them make up a
// float (device/halves.cuh).
struct Half {
  std::uint16_t bits = 0;
};

}  // namespace weft::kernels

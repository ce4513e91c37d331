// SPDX-License-Identifier: MIT
// How many windows of a convolution or a pooling lie side by side.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/error.h"

namespace weft::kernels {

// Windows that are `stride` apart, where the last may begin `room` elements behind the first.
inline std::int64_t window_positions(std::int64_t room, std::int64_t stride) {
  if (stride < 1) {
    throw Error(ErrorKind::usage, str("a window moves by ", stride, ", expected 1 or more"));
  }
  return room / stride + 1;
}

// From one window to the next in a padded image of this extent. There is no second window beyond
// the image, so that a longer stride means the same, and 32 bits hold this one.
inline std::int64_t window_step(std::int64_t stride, std::int64_t padded_extent) {
  return std::min(stride, padded_extent);
}

}  // namespace weft::kernels

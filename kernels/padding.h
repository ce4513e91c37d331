// SPDX-License-Identifier: MIT
// What a window and its padding have to satisfy, along one axis.
#pragma once

#include <cstdint>

namespace weft::kernels {

// Pooling pads by at most half the window, so that no window lies in padding alone. Written as a
// subtraction, so that extreme values cannot overflow.
inline bool padding_fits(std::int64_t padding, std::int64_t window) {
  return padding <= window - padding;
}

// Is the window no larger than the padded extent?
inline bool window_fits(std::int64_t window, std::int64_t extent, std::int64_t padding) {
  return extent >= window - 2 * padding;
}

}  // namespace weft::kernels

// SPDX-License-Identifier: MIT
// Initial values, as PyTorch's Linear and Conv2d draw them.
#pragma once

#include <cmath>
#include <cstdint>

namespace weft::layers {

// Weights and biases are uniform in +- 1/sqrt(fan_in).
inline float fan_in_bound(std::int64_t fan_in) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(fan_in)));
}

}  // namespace weft::layers

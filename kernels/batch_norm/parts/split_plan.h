// SPDX-License-Identifier: MIT
// How split.cu divides a channel, and what it keeps of each part.
#pragma once

#include <algorithm>

#include "kernels/batch_norm/over_ranks.h"

namespace weft::kernels {

struct GradientSums {
  double dy, dy_hat;
};

// Parts of a channel: enough blocks in all for two waves on the largest GPUs, none with less work
// than a launch costs.
inline std::int64_t batch_norm_parts(const BatchNormDims& dims) {
  constexpr std::int64_t kBlocks = 1056, kLeastElements = 2048, kMostParts = 128;
  const std::int64_t wanted = (kBlocks + dims.c - 1) / std::max<std::int64_t>(dims.c, 1);
  const std::int64_t filled = dims.n * dims.inner / kLeastElements;
  return std::clamp<std::int64_t>(std::min(wanted, filled), 1, kMostParts);
}

}  // namespace weft::kernels

// SPDX-License-Identifier: MIT
// Dropout: y = keep ? x / (1 - p) : 0. The same formula maps dy to dx.
//
// keep for element i is a pure function of (seed, layer, *step, i) through philox(), so no mask is
// stored: backward draws the same numbers again. 0 <= p < 1. In place is allowed. A share of a
// batch that says where it starts drops what the whole batch would drop there.
#pragma once

#include "kernels/ladder.h"

namespace weft::kernels {

struct DropoutKey {
  std::uint64_t seed = 0;
  std::uint32_t layer = 0;             // index of the layer in its network
  const std::int64_t* step = nullptr;  // device memory: the training step
  std::int64_t first = 0;              // index of x[0] in the whole batch, where x is a share of it
};

// Let i be first plus the index in x. The element draws value i % 4 of
//   philox(seed, RandomStream::dropout, layer, (*step << 32) + i / 4)
// and is kept when uniform01 of it is >= p. first >= 0; first + n < 2^34.
void dropout(float* y, const float* x, std::int64_t n, float p, const DropoutKey& key,
             GradientMode mode, std::string_view variant, const Stream& stream);
// The same, by the rung that `automatic` takes.
inline void dropout(float* y, const float* x, std::int64_t n, float p, const DropoutKey& key,
                    GradientMode mode, const Stream& stream) {
  dropout(y, x, n, p, key, mode, kAutomatic, stream);
}

Rungs dropout_rungs();

}  // namespace weft::kernels

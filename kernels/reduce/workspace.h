// SPDX-License-Identifier: MIT
// Elements of a block and of the workspace: what host code needs to know about the kernels.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::kernels::cuda {

constexpr int kReduceCoarsening = 8;                  // elements of a thread in coarsened
constexpr int kReduceLoads = 4;                       // 16-byte loads in flight in vectorized
constexpr std::int64_t kReduceGrid = 132 * 2048 * 4;  // most threads of a grid in vectorized
constexpr std::size_t kReducePartialBytes = 16;       // of the largest partial result, argmax's

// Partial results of all levels, when a block reduces `per_block` values: n / per_block for the
// first, and so on down to one.
constexpr std::int64_t reduce_level_elements(std::int64_t n, std::int64_t per_block) {
  std::int64_t elements = 0;
  do {
    n = n > per_block ? (n + per_block - 1) / per_block : 1;
    elements += n;
  } while (n > 1);
  return elements;
}

// Blocks of vectorized; they depend on n and the options only, never on the device, and neither
// does the order of operations.
constexpr std::int64_t reduce_vectorized_blocks(std::int64_t n, std::size_t element_bytes,
                                                int threads) {
  const std::int64_t tile = threads * kReduceLoads * static_cast<std::int64_t>(16 / element_bytes);
  const std::int64_t blocks = n > tile ? (n + tile - 1) / tile : 1;
  return blocks < kReduceGrid / threads ? blocks : kReduceGrid / threads;
}

}  // namespace weft::kernels::cuda

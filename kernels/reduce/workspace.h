// SPDX-License-Identifier: MIT
// Elements of a block and of the workspace: what host code needs to know about the kernels.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::kernels::cuda {

constexpr int kReduceCoarsening = 8;                   // elements of a thread in coarsened
constexpr int kReduceLoads = 4;                        // 16-byte loads in flight in vectorized
constexpr std::int64_t kReduceGrid = 132 * 2048 * 4;   // most threads of a grid in vectorized
constexpr int kReduceSinglePassLoads = 8;              // 16-byte loads in flight in single_pass
constexpr std::int64_t kReduceSpread = 128;            // blocks that get less than these loads
constexpr std::int64_t kReduceSinglePassBlocks = 512;  // most blocks of single_pass
constexpr std::size_t kReducePartialBytes = 16;        // of the largest partial result, argmax's

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

// So short that it lies in the L2 cache with all blocks resident at once: blocks that are in place
// before the kernel before them has ended can fetch it meanwhile.
constexpr bool reduce_is_short(std::int64_t n, std::size_t element_bytes) {
  return n <= (std::int64_t{16} << 20) / static_cast<std::int64_t>(element_bytes);
}

// Rows of a block of single_pass, of `threads` 16-byte vectors each. An array of one batch of loads
// is a block's; a longer one is spread over kReduceSpread blocks first, then the batches of a block
// fill up, then the grid grows, and at last the blocks loop. Nothing depends on the device.
constexpr std::int64_t reduce_single_pass_rows(std::int64_t n, std::size_t element_bytes,
                                               int threads) {
  const std::int64_t row = threads * static_cast<std::int64_t>(16 / element_bytes);
  const std::int64_t rows = n > row ? (n + row - 1) / row : 1;
  if (rows <= kReduceSinglePassLoads) return rows;
  const std::int64_t spread = (rows + kReduceSpread - 1) / kReduceSpread;
  const std::int64_t least = (rows + kReduceSinglePassBlocks - 1) / kReduceSinglePassBlocks;
  const std::int64_t batch = kReduceSinglePassLoads;
  return least > batch ? least : spread < batch ? spread : batch;
}

}  // namespace weft::kernels::cuda

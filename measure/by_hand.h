// SPDX-License-Identifier: MIT
// What the courses have their students compute by hand: loads from global memory, warps that
// diverge, bank conflicts, additions, atomics on one address, the share of a halo. From the shapes
// of problem, block and tile alone; nothing is measured here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/gemm/gemm.h"
#include "kernels/memory/memory.h"
#include "kernels/signal/signal.h"

namespace weft::measure {

struct Fact {
  std::string name;  // "global loads"
  double value = 0;
  std::string text;  // the value with what it means
};

// Loads of 4 bytes from global memory, caches left aside, with what follows from them.
void add_loads(std::vector<Fact>& facts, double loads, double outputs, double flops,
               std::string_view why);

struct GemmTiles {
  std::int64_t side = 0;                              // of the tiles of `tiled`; 0: its own
  std::int64_t strip_width = 128, strip_results = 4;  // as in GemmOptions
};
std::vector<Fact> gemm_facts(const kernels::GemmDims& dims, std::string_view variant,
                             const GemmTiles& tiles = {});
std::vector<Fact> reduce_facts(std::int64_t n, int threads, std::string_view variant);
// `section` is the number of elements that a block scans, 1024 for comparison.
std::vector<Fact> scan_facts(std::string_view variant, std::int64_t section = 1024);
// `fullest` is the number of values in the fullest bin.
std::vector<Fact> histogram_facts(std::int64_t n, std::int64_t bins, std::int64_t fullest,
                                  int multiprocessors, std::string_view variant);
// `tile` is the side of the outputs of a block in each dimension; 0: the rung's own.
std::vector<Fact> signal_facts(const kernels::SignalDims& dims, std::string_view variant,
                               std::int64_t tile = 0);
std::vector<Fact> divergence_facts(std::int64_t n, int rounds, std::string_view variant);
std::vector<Fact> nbody_facts(std::int64_t n, std::string_view variant);

// For the tree of a reduction in a block, one number for each step: warps in which some threads
// work and some do not; and the largest number of threads of a warp that want one of the 32 banks.
struct TreeSteps {
  std::vector<int> divergent_warps, bank_ways;
};
TreeSteps reduction_tree(int threads, std::string_view variant);  // empty for other variants

// A warp whose lanes read one word of 4 bytes each from global memory.
struct WarpSectors {
  int sectors = 0;  // of 32 bytes, that it touches
  int lines = 0;    // of 128 bytes
  double used = 0;  // share of the sectors' bytes that it asked for
};
WarpSectors sectors_of_warp(const kernels::Access& access);
// Passes over the 32 banks that a warp needs whose lanes read shared memory `stride` words apart.
int bank_passes(std::int64_t stride);
std::vector<Fact> memory_facts(const kernels::Access& access, std::string_view variant);

// A convolution by tiles of `tile` outputs under a mask, in each of its dimensions, away from the
// border and at the border (a corner: the first tile of each dimension, where what lies outside of
// the input is not loaded).
struct TileReuse {
  double uses = 0, loads = 0;                // products of a tile; elements that it loads
  double border_uses = 0, border_loads = 0;  // likewise
  double uses_in_tile = 0;  // products whose element lies within the tile: the halo is not staged
};
TileReuse tile_reuse(std::span<const std::int64_t> tile, std::span<const std::int64_t> mask);

// Warps of a grid of blocks that covers an array of 1 to 3 dimensions, and how many diverge: at
// the bounds check of the kernel, or at a branch within the bounds.
enum class Branch {
  none,     // the bounds check alone
  row_col,  // row > col: the last two dimensions
  odd,      // an odd index in the last dimension
  inner     // threads at the edge of a block do nothing, as those that load a halo of 1
};
struct DivergentWarps {
  std::int64_t blocks = 0, warps = 0, idle = 0;              // idle: all lanes are out of bounds
  std::int64_t at_bounds = 0, at_branch = 0, divergent = 0;  // divergent: at one or at both
};
// `size` and `block` have as many extents, the last one contiguous (blockDim.x). Throws usage
// unless a block has 1 to 1024 threads and the grid at most 2^28.
DivergentWarps divergent_warps(std::span<const std::int64_t> size,
                               std::span<const std::int64_t> block, Branch branch);

}  // namespace weft::measure

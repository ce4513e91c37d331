// SPDX-License-Identifier: MIT
// Warps by hand: sectors and banks that their lanes touch, and branches that divide them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "engine/error.h"
#include "engine/extent.h"
#include "measure/by_hand.h"

namespace weft::measure {
namespace {

constexpr int kWarp = 32, kBanks = 32;
constexpr std::int64_t kSectorWords = 8, kLineWords = 32;  // of 4 bytes

// An array, or a block, as depth, height and width.
using Extents = std::array<std::int64_t, 3>;

Extents extents_of(std::span<const std::int64_t> given) {
  Extents extents = {1, 1, 1};
  std::copy(given.begin(), given.end(), extents.end() - static_cast<std::ptrdiff_t>(given.size()));
  return extents;
}

Extents place_in(std::int64_t index, const Extents& in) {
  return {index / (in[1] * in[2]), index / in[2] % in[1], index % in[2]};
}

// Does a thread of the block at `local` in its block, and `at` in the array, take the branch?
bool takes(Branch branch, const Extents& at, const Extents& local, const Extents& block) {
  switch (branch) {
    case Branch::row_col:
      return at[1] > at[2];
    case Branch::odd:
      return at[2] % 2 != 0;
    case Branch::inner:
      for (std::size_t i = 0; i < 3; ++i) {
        if (block[i] > 1 && (local[i] == 0 || local[i] == block[i] - 1)) return false;
      }
      return true;
    default:
      return true;
  }
}

}  // namespace

WarpSectors sectors_of_warp(const kernels::Access& access) {
  std::set<std::int64_t> sectors, lines;
  for (int lane = 0; lane < kWarp; ++lane) {
    const std::int64_t word = access.offset + lane * access.stride;
    sectors.insert(word / kSectorWords);
    lines.insert(word / kLineWords);
  }
  const int count = static_cast<int>(sectors.size());
  return {count, static_cast<int>(lines.size()),
          static_cast<double>(kWarp) / static_cast<double>(count * kSectorWords)};
}

int bank_passes(std::int64_t stride) {
  return static_cast<int>(std::gcd(stride, std::int64_t{kBanks}));
}

std::vector<Fact> memory_facts(const kernels::Access& access, std::string_view variant) {
  using kernels::MemoryOperation;
  const std::optional<MemoryOperation> operation = kernels::memory_traits(variant).operation;
  if (operation == MemoryOperation::shared) {
    const int passes = bank_passes(access.stride);
    return {{"passes over the banks", static_cast<double>(passes),
             fmt::format("{}: gcd({}, 32) lanes of a warp share each of {} banks", passes,
                         access.stride, kBanks / passes)}};
  }
  if (operation != MemoryOperation::copy && operation != MemoryOperation::read) return {};
  const WarpSectors warp = sectors_of_warp(access);
  return {{"sectors of a warp", static_cast<double>(warp.sectors),
           fmt::format("{} of 32 bytes in {} lines of 128, for lanes {} apart from word {}; 4 "
                       "would do",
                       warp.sectors, warp.lines, access.stride, access.offset)},
          {"share of use", warp.used,
           fmt::format("{:.1f} %: 128 of the {} bytes that a warp moves", 100 * warp.used,
                       32 * warp.sectors)}};
}

DivergentWarps divergent_warps(std::span<const std::int64_t> size,
                               std::span<const std::int64_t> block_size, Branch branch) {
  if (size.empty() || size.size() > 3 || block_size.size() != size.size()) {
    throw Error(ErrorKind::usage, str("warps: expected an array and a block of the same 1 to 3 "
                                      "extents, found ",
                                      size.size(), " and ", block_size.size()));
  }
  if (branch == Branch::row_col && size.size() < 2) {
    throw Error(ErrorKind::usage, "warps: row > col needs an array of 2 dimensions, found 1");
  }
  constexpr std::int64_t kMost = 1 << 28;
  const Extents array = extents_of(size), block = extents_of(block_size);
  Extents grid;
  std::int64_t threads = 1, all = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    grid[i] = divide_up(array[i], block[i]);
    if (__builtin_mul_overflow(threads, block[i], &threads) ||
        __builtin_mul_overflow(all, grid[i] * block[i], &all)) {
      all = kMost + 1;
      break;
    }
  }
  if (threads > 1024 || all > kMost) {
    throw Error(ErrorKind::usage,
                str("warps: expected at most 1024 threads in a block and ", kMost, " in all"));
  }
  DivergentWarps found;
  found.blocks = grid[0] * grid[1] * grid[2];
  for (std::int64_t b = 0; b < found.blocks; ++b) {
    const Extents at_block = place_in(b, grid);
    for (std::int64_t first = 0; first < threads; first += kWarp) {
      int lanes = 0, inside = 0, taken = 0;
      for (std::int64_t t = first; t < std::min(first + kWarp, threads); ++t, ++lanes) {
        const Extents local = place_in(t, block);
        Extents at;
        bool within = true;
        for (std::size_t i = 0; i < 3; ++i) {
          at[i] = at_block[i] * block[i] + local[i];
          within = within && at[i] < array[i];
        }
        inside += within ? 1 : 0;
        taken += within && takes(branch, at, local, block) ? 1 : 0;
      }
      const bool bounds = inside > 0 && inside<lanes, branches = taken> 0 && taken < inside;
      ++found.warps;
      found.idle += inside == 0 ? 1 : 0;
      found.at_bounds += bounds ? 1 : 0;
      found.at_branch += branches ? 1 : 0;
      found.divergent += bounds || branches ? 1 : 0;
    }
  }
  return found;
}

}  // namespace weft::measure

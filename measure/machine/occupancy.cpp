// SPDX-License-Identifier: MIT
#include "measure/machine/occupancy.h"

#include <algorithm>

#include "engine/error.h"
#include "engine/extent.h"

namespace weft::measure {
namespace {

constexpr int kWarp = 32;

void check(std::string_view what, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return;
  throw Error(ErrorKind::usage,
              str("occupancy: expected ", least, " to ", most, " ", what, ", found ", value));
}

}  // namespace

Occupancy occupancy(const BlockUse& block, const SmLimits& sm) {
  check("threads per block", block.threads, 1, kMostThreads);
  check("registers per thread", block.registers, 0, kMostRegisters);
  check("registers per block", block.registers_of_block, 0, INT32_MAX);
  check("bytes of shared memory", block.shared_bytes, 0, INT32_MAX);
  Occupancy found;
  found.warps_of_block = divide_up(block.threads, kWarp);
  found.by_threads = sm.threads / kWarp / found.warps_of_block;
  found.by_blocks = sm.blocks;

  found.registers_of_warp = round_up(std::int64_t{block.registers} * kWarp, sm.register_unit);
  found.registers_of_block = found.registers_of_warp * found.warps_of_block;
  if (block.registers_of_block > 0) {
    found.registers_of_block = block.registers_of_block;
    found.by_registers = sm.registers / block.registers_of_block;
  } else if (block.registers > 0) {
    const std::int64_t warps =
        sm.registers / sm.partitions / found.registers_of_warp * sm.partitions;
    // A launch is refused unless every partition could take an equal share of the block.
    const std::int64_t assumed =
        found.registers_of_warp * round_up(found.warps_of_block, sm.partitions);
    found.by_registers = assumed > sm.registers ? 0 : warps / found.warps_of_block;
  }

  found.shared_of_block = round_up(block.shared_bytes + sm.shared_reserved, sm.shared_unit);
  if (block.shared_bytes > sm.shared_of_block) {
    found.by_shared = 0;
  } else if (found.shared_of_block > 0) {
    found.by_shared = sm.shared_bytes / found.shared_of_block;
  }

  const std::int64_t blocks =
      std::min({found.by_threads, found.by_registers, found.by_shared, found.by_blocks});
  found.blocks = static_cast<int>(blocks);
  found.warps = found.blocks * found.warps_of_block;
  found.threads = found.blocks * block.threads;
  found.of_warps = found.warps * static_cast<double>(kWarp) / sm.threads;
  found.of_threads = static_cast<double>(found.threads) / sm.threads;
  if (found.by_threads == blocks) found.limits.emplace_back("threads");
  if (found.by_registers == blocks) found.limits.emplace_back("registers");
  if (found.by_shared == blocks) found.limits.emplace_back("shared memory");
  if (found.by_blocks == blocks) found.limits.emplace_back("blocks");
  return found;
}

int smallest_filling_block(const SmLimits& sm) {
  return round_up(divide_up(sm.threads, sm.blocks), kWarp);
}

std::int64_t warps_to_hide(std::int64_t wait, std::int64_t work) {
  return 1 + divide_up(wait, work);
}

}  // namespace weft::measure

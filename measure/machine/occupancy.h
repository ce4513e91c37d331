// SPDX-License-Identifier: MIT
// How many blocks of a kernel one SM holds, and which resource runs out first. The same arithmetic
// as the occupancy calculator of the CUDA Toolkit, from public figures: no GPU is needed.
//
// A warp gets its registers in units, from the partition of the SM that runs it; a block gets its
// shared memory in units, and CUDA adds 1 KiB from compute capability 8.0 on. Courses leave all
// three aside: SmLimits::on_paper().
#pragma once

#include <string>
#include <vector>

#include "measure/machine/gpus.h"

namespace weft::measure {

inline constexpr int kMostThreads = 1024, kMostRegisters = 255;  // of a block, of a thread

struct BlockUse {
  int threads = 0;                      // 1 to kMostThreads
  int registers = 0;                    // of one thread, 0 to kMostRegisters; 0: they do not limit
  std::int64_t shared_bytes = 0;        // of the block, static and dynamic
  std::int64_t registers_of_block = 0;  // instead of `registers`, where a question gives these
};

struct Occupancy {
  int warps_of_block = 0;
  std::int64_t registers_of_warp = 0, registers_of_block = 0;  // as they are handed out
  std::int64_t shared_of_block = 0;                            // bytes, likewise
  // Blocks that each resource alone would hold; kUnlimited when none of it is used.
  static constexpr std::int64_t kUnlimited = INT64_MAX;
  std::int64_t by_threads = 0, by_registers = kUnlimited, by_shared = kUnlimited, by_blocks = 0;

  int blocks = 0, warps = 0, threads = 0;  // resident on one SM
  double of_warps = 0, of_threads = 0;     // shares of what the SM can hold
  std::vector<std::string> limits;         // every resource that runs out, in the order above
};

// Throws usage where the threads or registers are out of range.
Occupancy occupancy(const BlockUse& block, const SmLimits& sm);

// Blocks of fewer threads than this cannot fill the SM: it holds no more of them. Rounded up to
// whole warps.
int smallest_filling_block(const SmLimits& sm);

// Warps that keep a scheduler busy when each works for `work` cycles and then waits for `wait`.
std::int64_t warps_to_hide(std::int64_t wait, std::int64_t work);

}  // namespace weft::measure

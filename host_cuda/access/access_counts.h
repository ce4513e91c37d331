// SPDX-License-Identifier: MIT
// How kernels use memory, counted while they run thread by thread on host-cuda: what a request of a
// warp costs in sectors of global memory and in passes over the banks of shared memory, how many
// lanes take part, how atomics pile up on one address, and where the lanes of a warp part.
//
// A request is one instruction of one warp: the accesses that its lanes make from the same place in
// the code, in the same trip of the loops around it, between the same two barriers. The code is
// compiled by the host's compiler at -O1, which merges and hoists other loads and stores than nvcc
// does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weft {

enum class AccessKind : std::uint8_t {
  global_load,
  global_store,
  shared_load,
  shared_store,
  global_atomic,
  shared_atomic,
};

// "global load".
constexpr const char* name_of(AccessKind kind) {
  switch (kind) {
    case AccessKind::global_load:
      return "global load";
    case AccessKind::global_store:
      return "global store";
    case AccessKind::shared_load:
      return "shared load";
    case AccessKind::shared_store:
      return "shared store";
    case AccessKind::global_atomic:
      return "global atomic";
    case AccessKind::shared_atomic:
      break;
  }
  return "shared atomic";
}
constexpr bool is_global(AccessKind kind) {
  return kind == AccessKind::global_load || kind == AccessKind::global_store ||
         kind == AccessKind::global_atomic;
}
constexpr bool is_atomic(AccessKind kind) {
  return kind == AccessKind::global_atomic || kind == AccessKind::shared_atomic;
}

// The requests of one line of source.
struct LineCounts {
  std::string line;  // "kernels/gemm/rungs/tiled.cu:57"
  AccessKind kind = AccessKind::global_load;
  std::uint64_t requests = 0;
  std::uint64_t lanes = 0;         // that took part, over all requests
  std::uint64_t transactions = 0;  // global: sectors of 32 bytes; shared: passes over the banks
  std::uint64_t least = 0;         // transactions, had the lanes' addresses been side by side
  // What shared loads would be if a thread loaded neighbouring words at once, up to 16 bytes, and
  // none twice. nvcc does so where it unrolls a loop.
  std::uint64_t wide_requests = 0, wide_transactions = 0;
};

// Atomic operations of single threads on one kind of memory.
struct AtomicCounts {
  std::uint64_t operations = 0;
  std::uint64_t addresses = 0;  // that they went to; of shared memory, those of each block
  std::uint64_t most_on_an_address = 0;
};

// A branch of the code that lanes left in more than one way during the run.
struct BranchCounts {
  std::string line;
  std::uint64_t executed = 0;   // by warps
  std::uint64_t divergent = 0;  // of these: lanes of the warp went different ways
};

struct KernelCounts {
  std::string kernel;
  std::uint64_t launches = 0, blocks = 0, threads = 0;
  std::uint64_t barriers = 0;  // of a block, times blocks
  std::uint64_t warps = 0;
  std::uint64_t divergent_warps = 0;  // in which lanes parted at least once
  std::uint64_t steps = 0;            // basic blocks of the code that warps have run
  std::uint64_t lanes_of_steps = 0;   // that took part in them; at best 32 times as many
  AtomicCounts global_atomics, shared_atomics;
  std::vector<LineCounts> lines;
  std::vector<BranchCounts> branches;
};

// Runs `work` and returns what its kernels did, in the order of their first launch. Empty, and
// `work` is not run, unless this program was linked for host-cuda.
std::vector<KernelCounts> count_accesses(const std::function<void()>& work);

}  // namespace weft

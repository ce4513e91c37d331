// SPDX-License-Identifier: MIT
// How kernels use memory, counted while they run thread by thread on host-cuda: what a request of a
// warp costs in sectors of global memory and in passes over the banks of shared memory, how many
// lanes take part, and how atomics pile up on one address.
//
// A request is one instruction of one warp: the accesses that its lanes make from the same place in
// the code, the n-th of each lane together. The compiler is the host's, at -O1: it makes the loads
// and stores that the source says, while nvcc may merge, split or hoist some.
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

const char* name_of(AccessKind kind);  // "global load"
constexpr bool is_global(AccessKind kind) {
  return kind == AccessKind::global_load || kind == AccessKind::global_store ||
         kind == AccessKind::global_atomic;
}

// The requests of one line of source.
struct LineCounts {
  std::string line;  // "kernels/gemm/tiled.cu:57"
  AccessKind kind = AccessKind::global_load;
  std::uint64_t requests = 0;
  std::uint64_t lanes = 0;         // that took part, over all requests
  std::uint64_t transactions = 0;  // global: sectors of 32 bytes; shared: passes over the banks
  std::uint64_t least = 0;         // transactions, had the lanes' addresses been side by side
};

struct KernelCounts {
  std::string kernel;
  std::uint64_t launches = 0, blocks = 0, threads = 0;
  std::uint64_t barriers = 0;          // of a block, times blocks
  std::uint64_t atomics = 0;           // operations of single threads
  std::uint64_t atomic_addresses = 0;  // that they went to
  std::uint64_t most_on_an_address = 0;
  std::vector<LineCounts> lines;
};

// Runs `work` and returns what its kernels did, in the order of their first launch. Empty, and
// `work` is not run, unless this program was linked for host-cuda.
std::vector<KernelCounts> count_accesses(const std::function<void()>& work);

}  // namespace weft

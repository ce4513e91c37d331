// SPDX-License-Identifier: MIT
// The functions behind all_reduce() on a GPU: the launcher of a rung, which its file in rungs/
// defines. n is positive.
#pragma once

#include "kernels/all_reduce/all_reduce.h"

namespace weft::kernels {

// Throws usage unless a GPU reaches the memory of each rank.
void check_peer_memory(std::string_view where, const PeerGroup& group, const Stream& stream);

}  // namespace weft::kernels

namespace weft::kernels::cuda {

// Ranks group.rank .. group.rank + count - 1 of a group.
struct RanksHere {
  PeerGroup group;
  std::int64_t n;
  int count;
  float* values[kMaxPeers];
};

using AllReduceLauncher = void(const RanksHere& ranks, const Stream& stream);

}  // namespace weft::kernels::cuda

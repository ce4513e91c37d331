// SPDX-License-Identifier: MIT
// All-reduce between the GPUs of one machine, one-shot: every rank reads what all ranks have put
// into memory that all can reach, and adds it up itself.
//
//   values[i] = sum over ranks r = 0 .. size - 1, in this order, of rank r's values[i]
//
// so all ranks get the same bits. A ring moves 2 (size - 1) / size of the bytes over a link in
// 2 (size - 1) steps that wait for each other; one-shot moves size - 1 times the bytes in one step.
// It wins while the latency of a step is longer than the transfer.
//
// Every rank calls it with the same n, in the same order, at the same time: the kernels wait for
// each other, so they must run at once. A call finds its number in device memory and may be
// captured in a graph. Compiled for host-cuda it runs with a group of one.
#pragma once

#include "kernels/ladder.h"

namespace weft::kernels {

inline constexpr int kMaxPeers = 8;
inline constexpr int kAllReduceBlocks = 64;  // blocks of the largest grid

// The exchange memory of one rank, in its GPU: flags, then two slots of `capacity` floats. Calls
// take the slots in turn, so that one barrier a call is enough. Zeroed once, before any rank uses
// it; the kernels leave it ready for the next call.
std::size_t peer_memory_bytes(std::int64_t capacity);

// The ranks' exchange memories, as this process and its GPU address them.
struct PeerGroup {
  int rank = 0, size = 1;
  std::int64_t capacity = 0;  // floats of a slot
  void* memory[kMaxPeers] = {};
};

// usage: n above the capacity, a group of no or more than kMaxPeers ranks, a rank outside of it.
void all_reduce_one_shot(float* values,  // (n,), in place
                         std::int64_t n, const PeerGroup& group, const Stream& stream);

Rungs all_reduce_rungs();

}  // namespace weft::kernels
